// Unigram: the best path through all tokens that the piece can be cut into (T. Kudo, "Subword Regularization", 2018),
// with the sums, ties and unknown characters of Hugging Face tokenizers.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "crayon/support/error.h"
#include "models/model_common.h"

namespace crayon {
namespace {

constexpr double kUnknownPenalty = 10;

// The best path to a place in the piece: its score, and its last token.
struct Step {
    double score;
    uint32_t start;  // of the token; kNoId if not reached yet
    uint32_t id;
};

// A trie's node with all that a step needs: the double array, and the score (NaN if no token ends). Causes a fraction
// of the cache misses. Built after kPackAfter new pieces.
struct PackedNode {
    int32_t base, check;
    double score;
};
static_assert(sizeof(PackedNode) == 16, "nodes do not straddle cache lines");

constexpr uint32_t kPackAfter = 512;    // new pieces of a thread
constexpr size_t kFewBytes = 200;       // pieces of up to this size use an array on the stack
constexpr double kGreatestScore = 1e9;  // sums of fewer than 2^32 of these stay finite

struct UnigramScratch final : PathScratch<Step> {
    uint32_t new_pieces = 0;
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
        is_ordinary_ = trie_.size > 0 && std::all_of(scores_.begin(), scores_.end(),
                                                     [](double score) { return std::abs(score) <= kGreatestScore; });
    }

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<UnigramScratch>(); }

    void tokenize(Bytes piece, ModelScratch* scratch, std::vector<ModelToken>* out) const override {
        UnigramScratch& s = *static_cast<UnigramScratch*>(scratch);
        checked_size(piece);
        find_steps(piece, &s.steps);
        take_path(piece, s, out);
    }
    bool knows_tokens() const override { return true; }

    void encode_piece(Bytes piece, ModelScratch* scratch, IdBuffer* out) const override {
        UnigramScratch& s = *static_cast<UnigramScratch*>(scratch);
        if (piece.size <= kFewBytes && encode_few(piece, &s, out)) return;
        Model::encode_piece(piece, scratch, out);
    }

    ~Unigram() override { delete[] packed_.load(); }

  private:
    // Returns null until kPackAfter new pieces make building the packed nodes worthwhile, and always if a score is not
    // finite.
    const PackedNode* packed(UnigramScratch* s) const {
        const PackedNode* found = packed_.load(std::memory_order_acquire);
        if (found != nullptr || !is_ordinary_ || ++s->new_pieces < kPackAfter) return found;
        std::unique_ptr<PackedNode[]> nodes(new PackedNode[trie_.size]);
        for (uint32_t i = 0; i < trie_.size; ++i) {
            const int32_t id = trie_.values[i];
            nodes[i] = {trie_.base[i], trie_.check[i],
                        id >= 0 ? scores_[size_t(id)] : std::numeric_limits<double>::quiet_NaN()};
        }
        // Lock-free, because a child of fork() could wait for ever. The first result is kept.
        if (packed_.compare_exchange_strong(found, nodes.get())) found = nodes.release();
        return found;
    }

    // Does what find_steps and take_path do, for a small piece and over packed nodes. Returns false, with nothing done,
    // if packed nodes do not exist or an unknown piece has no token.
    bool encode_few(Bytes piece, UnigramScratch* s, IdBuffer* out) const {
        const PackedNode* const nodes = packed(s);
        if (nodes == nullptr) return false;
        struct {
            double score;
            uint32_t start, node;
        } steps[kFewBytes + 1];
        const size_t size = piece.size;
        steps[0].score = 0.0;
        for (size_t i = 1; i <= size; ++i) steps[i] = {-std::numeric_limits<double>::infinity(), 0, 0};
        for (size_t start = 0; start < size;) {
            const double score = steps[start].score;
            const size_t next = start + char_size(piece, start);
            bool has_char = false;
            int32_t parent = 0;
            int64_t base = nodes[0].base;
            for (size_t i = start; i < size;) {
                const int64_t child = base + piece[i];
                if (child <= 0 || child >= int64_t(trie_.size) || nodes[child].check != parent) break;
                const PackedNode& node = nodes[child];
                ++i;
                if (node.score + score > steps[i].score)
                    steps[i] = {node.score + score, uint32_t(start), uint32_t(child)};
                has_char |= i == next && node.score == node.score;
                parent = int32_t(child);
                base = node.base;
            }
            if (!has_char && unk_score_ + score > steps[next].score) {
                if (unk_id_ == kNoId) return false;
                steps[next] = {unk_score_ + score, uint32_t(start), 0};
            }
            start = next;
        }
        const auto id_at = [&](size_t end) {
            return steps[end].node == 0 ? unk_id_ : uint32_t(trie_.values[steps[end].node]);
        };
        size_t count = 0;
        uint32_t ends[kFewBytes];
        for (size_t end = size; end > 0; end = steps[end].start) ends[count++] = uint32_t(end);
        out->reserve_more(size);
        uint32_t start = 0;
        for (size_t i = count; i-- > 0;) {
            uint32_t end = ends[i];
            const uint32_t id = id_at(end);
            if (id != unk_id_) {
                out->push(int32_t(id));
            } else {
                while (i > 0 && id_at(ends[i - 1]) == unk_id_) end = ends[--i];
                s->tokens.clear();
                add_unknown(piece, start, end, &s->tokens);
                for (const ModelToken& token : s->tokens) out->push(int32_t(token.id));
            }
            start = end;
        }
        return true;
    }

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

    // Walks from the end back to the start, then gives the tokens in order, with adjacent unknown ones joined.
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

    // Adds joined unknown characters. Together they may equal a token that the best path did not take.
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
    bool is_ordinary_;
    mutable std::atomic<const PackedNode*> packed_{nullptr};
};

}  // namespace

std::unique_ptr<Model> make_unigram(const ModelOptions& options, const Cartridge& cartridge) {
    return std::make_unique<Unigram>(options, cartridge);
}

}  // namespace crayon
