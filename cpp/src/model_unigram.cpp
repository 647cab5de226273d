// Unigram: the best path through all tokens that the piece can be cut into (T. Kudo, "Subword Regularization", 2018),
// with the reference's sums, ties and unknown characters.
#include <algorithm>

#include "crayon/error.h"
#include "model_cache.h"
#include "model_parts.h"

namespace crayon {
namespace {

constexpr double kUnknownPenalty = 10;
constexpr size_t kKeep = size_t(1) << 16;

// The best way to a place in the piece: its score, and its last token.
struct Step {
    double score;
    uint32_t start;  // of the token, kNoId when no way was found yet
    uint32_t id;
};

struct UnigramScratch final : ModelScratch {
    PieceCache cache;
    std::vector<Step> steps;
    std::vector<uint32_t> ends;

    void trim() override {
        if (steps.capacity() > kKeep) std::vector<Step>().swap(steps);
        if (ends.capacity() > kKeep) std::vector<uint32_t>().swap(ends);
    }
};

class Unigram final : public Model {
  public:
    Unigram(const ModelOptions& options, const Cartridge& cartridge)
        : trie_(cartridge.trie),
          scores_(cartridge.scores),
          byte_ids_(options.byte_fallback ? cartridge.byte_ids : Array<uint32_t>()),
          unk_id_(options.unk_id.value_or(kNoId)) {
        const size_t n = scores_.empty() ? 0 : scores_.size - 1;
        if (scores_.empty() || (options.byte_fallback && byte_ids_.size != 256) || (options.unk_id && unk_id_ >= n))
            throw Error(ErrorKind::cartridge, "the sections of the Unigram model do not fit it");
        unk_score_ = scores_[n] - kUnknownPenalty;
    }

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<UnigramScratch>(); }

    void tokenize(Bytes piece, ModelScratch* scratch, std::vector<ModelToken>* out) const override {
        UnigramScratch& s = *static_cast<UnigramScratch*>(scratch);
        const uint32_t size = checked_size(piece);
        s.cache.tokenize(piece, 0, out, [&] {
            find_steps(piece, &s.steps);
            take_path(piece, s, out);
            return size;
        });
    }

  private:
    static void improve(Step* step, double score, uint32_t start, uint32_t id) {
        if (step->start == kNoId || score > step->score) *step = {score, start, id};
    }

    void find_steps(Bytes piece, std::vector<Step>* steps) const {
        steps->assign(piece.size + 1, {0.0, kNoId, 0});
        Step* const to = steps->data();
        for (size_t start = 0; start < piece.size;) {
            const double score = to[start].score;
            const size_t next = start + char_size(piece, start);
            bool has_char = false;
            int32_t node = trie_.size > 0 ? 0 : -1;
            for (size_t i = start; i < piece.size && node >= 0;) {
                node = trie_.step(node, piece[i++]);
                if (node < 0) break;
                const int32_t id = trie_.values[node];
                if (id < 0) continue;
                improve(to + i, scores_[size_t(id)] + score, uint32_t(start), uint32_t(id));
                has_char |= i == next;
            }
            if (!has_char) {
                const double with_unknown = unk_score_ + score;
                if (to[next].start == kNoId || with_unknown > to[next].score) {
                    if (unk_id_ == kNoId)
                        throw Error(ErrorKind::vocabulary, "Encountered an unknown token but `unk_id` is missing");
                    to[next] = {with_unknown, uint32_t(start), unk_id_};
                }
            }
            start = next;
        }
    }

    // From the end back to the start, then the tokens in order, with unknown ones next to each other made one.
    void take_path(Bytes piece, UnigramScratch& s, std::vector<ModelToken>* out) const {
        s.ends.clear();
        for (uint32_t end = uint32_t(piece.size); end > 0; end = s.steps[end].start) s.ends.push_back(end);
        uint32_t start = 0;
        for (size_t i = s.ends.size(); i-- > 0;) {
            uint32_t end = s.ends[i];
            const uint32_t id = s.steps[end].id;
            if (unk_id_ == kNoId || id != unk_id_) {
                out->push_back({id, start, end, false});
            } else {
                while (i > 0 && s.steps[s.ends[i - 1]].id == unk_id_) end = s.ends[--i];
                add_unknown(piece, start, end, out);
            }
            start = end;
        }
    }

    // Unknown characters together may be a token that was too unlikely.
    void add_unknown(Bytes piece, uint32_t start, uint32_t end, std::vector<ModelToken>* out) const {
        const Bytes text = piece.slice(start, end);
        const int32_t id = trie_.find(text);
        if (id >= 0) {
            out->push_back({uint32_t(id), start, end, false});
            return;
        }
        const auto has_token = [this](uint8_t byte) { return byte_ids_[byte] != kNoId; };
        if (byte_ids_.empty() || !std::all_of(text.begin(), text.end(), has_token)) {
            out->push_back({unk_id_, start, end, true});
            return;
        }
        for (const uint8_t byte : text) out->push_back({byte_ids_[byte], start, end, false});
    }

    const DoubleArrayView trie_;
    const Array<double> scores_;
    const Array<uint32_t> byte_ids_;
    const uint32_t unk_id_;
    double unk_score_;
};

}  // namespace

std::unique_ptr<Model> make_unigram(const ModelOptions& options, const Cartridge& cartridge) {
    return std::make_unique<Unigram>(options, cartridge);
}

}  // namespace crayon
