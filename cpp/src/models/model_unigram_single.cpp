// Unigram as SentencePiece computes it (EncodeOptimized of its version 0.2.3): single-precision sums from the beginning
// of a text, the first of equal paths, and user-defined pieces with their own scores. The tokenizer.json raised every
// score by a whole number per character; this model subtracts it again.
//
// If every piece with U+2581 has it only at its start, and U+2581 is itself a piece, each path has a cut before each
// U+2581. No run of unknown characters then crosses one. So words, which begin there, can be cut one after the other,
// each from the sum S of the previous ones. encode() does so, and caches words.
//
// Let D be the best path through the word in double precision, from a sum of zero. Let W be the greatest absolute value
// of its sums, and n the word's number of characters. In single precision from S, each sum is at most M = |S| + W plus
// earlier rounding, and each addition rounds by at most M * 2^-24. The best of some sums moves no more than any of
// them. So each sum differs by less than n * M * 2^-24 from S plus D's sum.
//
// If all other paths are worse than D by more than twice that difference, single precision takes the same path. This
// condition holds for |S| below a bound, which is cached with the word's ids. The library also restarts its sum at
// zero, which must not happen inside a cached word. If |S| is below the bound, the word's scores are added to S one by
// one, as the library does. Otherwise the search for the best path runs again, from S.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "crayon/support/error.h"
#include "encode/memo/word_ids.h"
#include "models/model_common.h"

namespace crayon {
namespace {

constexpr float kUnknownPenalty = 10;
constexpr float kResetAt = 100000;  // a sum beyond this restarts at zero

// The best path to a place in the text: its sum, and the trie's node at which its last token ends.
struct Step {
    float sum;
    uint32_t start;  // of the token; kNoId if not reached yet
    uint32_t node;   // 0: an unknown character
};

// A Step for a word whose sums start at zero, with the best rejected sum.
struct WordStep {
    double sum, second;
    uint32_t start, node;
};

// A cached word has a number for each token. The first number also has the code of the bound of |S|, which is not 0.
// | 30 to 23          | 22       | 21       | 20 to 0 |
// | code of the bound | kNoToken | kNoScore | id      |
constexpr uint32_t kNoScore = 1u << kIdBits;        // a character's later bytes
constexpr uint32_t kNoToken = 1u << (kIdBits + 1);  // an unknown run's later characters
constexpr uint32_t kBoundShift = kIdBits + 2, kBounds = 256;
constexpr uint32_t kNever = 1;            // The code of bound 0: such a word is cut each time.
constexpr double kSlack = 1.0 / 1024;     // far more than rounding adds to M, and than the error of D
constexpr double kBoundsToDouble = 8;     // codes per factor of two
constexpr double kLeastBound = 1.0 / 16;  // of code 2
static_assert(kBoundShift + 8 < 32 && kBounds == 1u << 8, "codes fit");

// A trie's node with all that a step needs. `score` is NaN unless a piece that text may become ends here.
struct Node {
    int32_t base, check;
    float score;
    int32_t id;
};
static_assert(sizeof(Node) == 16, "nodes do not straddle cache lines");

struct SingleScratch final : PathScratch<Step> {
    // For encode(), one block at a time. The words' cached numbers are in `numbers`.
    Piece words[WordIds::kBlock];
    bool begins[WordIds::kBlock];  // whether the word begins a text
};

size_t characters_of(Bytes text) {
    return size_t(std::count_if(text.begin(), text.end(), [](uint8_t byte) { return (byte & 0xC0) != 0x80; }));
}

class SinglePrecisionUnigram final : public Model {
  public:
    SinglePrecisionUnigram(const ModelOptions& options, const Cartridge& cartridge, const PieceFacts& facts)
        : trie_(cartridge.trie), unk_id_(options.unk_id.value_or(kNoId)) {
        const size_t n = cartridge.scores.empty() ? 0 : cartridge.scores.size - 1;
        if (options.byte_fallback) byte_ids_ = cartridge.byte_ids;
        if (n == 0 || (options.byte_fallback && byte_ids_.size != 256) || (options.unk_id && unk_id_ >= n) ||
            (!facts.scores.empty() && facts.scores.size() != n))
            throw Error(ErrorKind::cartridge, "the sections of the Unigram model do not fit it");
        scores_ = facts.scores;
        scores_.resize(n);
        for (uint32_t id = 0; id < n && facts.scores.empty(); ++id)
            scores_[id] = float(cartridge.scores[id] - facts.raised * double(characters_of(cartridge.bytes_of(id))));
        const auto hide = [&](uint32_t id) {
            if (id < n) scores_[id] = std::numeric_limits<float>::quiet_NaN();
        };
        for (const uint32_t id : facts.never) hide(id);
        for (const uint32_t id : facts.unused) hide(id);
        for (const uint32_t id : byte_ids_) hide(id);
        std::vector<float> normal = scores_;
        for (const uint32_t id : facts.user_defined)
            if (id < n) normal[id] = std::numeric_limits<float>::quiet_NaN();
        float least = std::numeric_limits<float>::max();
        for (const float score : normal) least = score < least ? score : least;
        unk_score_ = least - kUnknownPenalty;
        words_are_apart_ = are_words_apart(cartridge);
        if (!words_are_apart_) return;
        added_ = scores_;
        for (const uint32_t id : byte_ids_) added_[id] = unk_score_;
        if (unk_id_ != kNoId) added_[unk_id_] = unk_score_;
        for (uint32_t code = 2; code < kBounds; ++code)
            bounds_[code] = float(kLeastBound * std::exp2((code - 2) / kBoundsToDouble));
    }
    ~SinglePrecisionUnigram() override { delete[] nodes_.load(); }

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<SingleScratch>(); }

    void tokenize(Bytes piece, ModelScratch* scratch, std::vector<ModelToken>* out) const override {
        walk(piece, 0, scratch, [&](uint32_t id, uint32_t start, uint32_t end, bool own) {
            out->push_back({id, start, end, own});
        });
    }

    void encode_piece(Bytes piece, ModelScratch* scratch, IdBuffer* out) const override {
        const Piece whole{0, checked_size(piece)};
        if (words_are_apart_) return encode_by_words(piece, &whole, 1, scratch, out);
        out->reserve_more(piece.size);
        walk(piece, 0, scratch, [&](uint32_t id, uint32_t, uint32_t, bool) { out->push(int32_t(id)); });
    }

    void encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const override {
        if (!words_are_apart_) return Model::encode(text, pieces, n, scratch, out);
        encode_by_words(text, pieces, n, scratch, out);
    }

  private:
    // An unknown space would join unknown characters around it.
    bool are_words_apart(const Cartridge& cartridge) const {
        const auto is_found = [&](uint32_t id) { return scores_[id] == scores_[id]; };
        const uint32_t n = uint32_t(scores_.size());
        const int32_t space = trie_.find(kSpaceMark);
        if (space < 0 || !is_found(uint32_t(space)) || (unk_id_ != kNoId && is_found(unk_id_))) return false;
        for (const uint32_t id : byte_ids_)
            if (id >= n || id == unk_id_) return false;
        for (uint32_t id = 0; id < n; ++id)
            if (is_found(id) && cartridge.bytes_of(id).view().find(kSpaceMark, 1) != std::string_view::npos)
                return false;
        return true;
    }

    const Node* nodes() const {
        const Node* found = nodes_.load(std::memory_order_acquire);
        if (found != nullptr) return found;
        std::unique_ptr<Node[]> made(new Node[trie_.size]);
        for (uint32_t i = 0; i < trie_.size; ++i) {
            const int32_t id = trie_.values[i];
            made[i] = {trie_.base[i], trie_.check[i],
                       id >= 0 ? scores_[size_t(id)] : std::numeric_limits<float>::quiet_NaN(), id};
        }
        // Lock-free, because a child of fork() could wait for ever. The first result is kept.
        if (nodes_.compare_exchange_strong(found, made.get())) found = made.release();
        return found;
    }

    // Calls take(end, score, node) for each token of `text` that starts at `start`, the shortest first.
    template <typename Take>
    void each_token(Bytes text, size_t start, size_t next, const Node* nodes, Take&& take) const {
        bool has_char = false;
        int32_t parent = 0;
        int64_t base = trie_.size > 0 ? nodes[0].base : -1;
        for (size_t i = start; i < text.size;) {
            const int64_t child = base + text[i];
            if (base < 0 || child <= 0 || child >= int64_t(trie_.size) || nodes[child].check != parent) break;
            const Node& node = nodes[child];
            ++i;
            if (node.score == node.score) {
                take(i, node.score, uint32_t(child));
                has_char |= i == next;
            }
            parent = int32_t(child);
            base = node.base;
        }
        if (has_char) return;
        if (unk_id_ == kNoId)
            throw Error(ErrorKind::vocabulary, "Encountered an unknown token but `unk_id` is missing");
        take(next, unk_score_, 0u);
    }

    void find_steps(Bytes text, float first_sum, const Node* nodes, std::vector<Step>* steps) const {
        const size_t size = text.size;
        steps->assign(size + 1, {0, kNoId, 0});
        Step* const to = steps->data();
        to[0].sum = first_sum;
        size_t frontier = 0;
        for (size_t start = 0; start < size;) {
            float sum = to[start].sum;
            if (sum < -kResetAt || sum > kResetAt) {
                const float offset = sum;
                for (size_t i = start; i <= frontier; ++i)
                    if (i == start || to[i].start != kNoId) to[i].sum -= offset;
                sum = 0;
            }
            const size_t next = start + char_size(text, start);
            each_token(text, start, next, nodes, [&](size_t end, float score, uint32_t node) {
                const float with = score + sum;
                if (to[end].start == kNoId || with > to[end].sum) to[end] = {with, uint32_t(start), node};
                frontier = std::max(frontier, end);
            });
            start = next;
        }
    }

    static constexpr size_t kLongest = Memo::kLongest;

    // Appends a word's numbers for the cache.
    void remember(Bytes word, const Node* nodes, IdBuffer* out) const {
        const auto put_never = [&] { out->push(int32_t(kNever << kBoundShift)); };
        if (word.size > kLongest) return put_never();
        WordStep steps[kLongest + 1];
        for (size_t i = 0; i <= word.size; ++i) steps[i].start = kNoId;
        steps[0].sum = 0;
        double greatest = 0;
        size_t n_chars = 0;
        for (size_t start = 0, next; start < word.size; start = next) {
            const double sum = steps[start].sum;
            next = start + char_size(word, start);
            ++n_chars;
            each_token(word, start, next, nodes, [&](size_t end, float score, uint32_t node) {
                const double with = score + sum;
                WordStep& step = steps[end];
                greatest = std::max(greatest, std::abs(with));
                if (step.start == kNoId)
                    step = {with, -std::numeric_limits<double>::infinity(), uint32_t(start), node};
                else if (with > step.sum)
                    step = {with, step.sum, uint32_t(start), node};
                else
                    step.second = std::max(step.second, with);
            });
        }
        double margin = std::numeric_limits<double>::infinity();
        uint32_t ends[kLongest];
        size_t n_tokens = 0;
        for (uint32_t end = uint32_t(word.size); end > 0; end = steps[end].start) {
            margin = std::min(margin, steps[end].sum - steps[end].second);
            ends[n_tokens++] = end;
        }
        const double most = std::min(margin * double(1 << 23) / double(n_chars), double(kResetAt));
        uint32_t code = code_of(most * (1 - kSlack) - greatest) << kBoundShift;
        if (code == kNever << kBoundShift) return put_never();
        const auto put = [&](uint32_t token) {
            out->push(int32_t(token | code));
            code = 0;
        };
        bool in_run = false;
        for (uint32_t start = 0; n_tokens-- > 0; start = ends[n_tokens]) {
            const uint32_t end = ends[n_tokens], node = steps[end].node;
            if (node != 0)
                put(uint32_t(nodes[node].id));
            else if (byte_ids_.empty())
                put(unk_id_ | (in_run ? kNoToken : 0));
            else
                for (uint32_t at = start; at < end; ++at) put(byte_ids_[word[at]] | (at > start ? kNoScore : 0));
            in_run = node == 0;
        }
    }

    // The code of the greatest bound that is at most `bound`.
    uint32_t code_of(double bound) const {
        if (!(bound >= bounds_[2])) return kNever;
        return uint32_t(std::upper_bound(bounds_.begin() + 2, bounds_.end(), bound) - bounds_.begin()) - 1;
    }

    void encode_by_words(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const {
        SingleScratch& s = *static_cast<SingleScratch*>(scratch);
        const Node* const nodes = this->nodes();
        float sum = 0;
        size_t n_words = 0;
        const auto finish_block = [&] {
            s.numbers.clear();
            const auto make = [&](Bytes word, IdBuffer* ids) { remember(word, nodes, ids); };
            s.plain().encode(text, s.words, n_words, WordMaker{make}, &s.numbers);
            sum = put_words(text, sum, &s, out);
            n_words = 0;
        };
        for (const Piece* piece = pieces; piece < pieces + n; ++piece) {
            const std::string_view view = text.slice(0, piece->end).view();
            for (size_t at = piece->start; at < view.size();) {
                const size_t end = std::min(view.find(kSpaceMark, at + 1), view.size());
                s.words[n_words] = {uint32_t(at), uint32_t(end)};
                s.begins[n_words] = at == piece->start;
                if (++n_words == WordIds::kBlock) finish_block();
                at = end;
            }
        }
        finish_block();
    }

    // Appends the ids of a block's words from their cached numbers. Returns the new sum.
    float put_words(Bytes text, float sum, SingleScratch* s, IdBuffer* out) const {
        const IdBuffer& remembered = s->numbers;
        out->reserve_more(remembered.size());
        size_t word = 0;
        for (size_t i = 0; i < remembered.size();) {
            const uint32_t token = uint32_t(remembered.data()[i++]);
            if (const uint32_t code = token >> kBoundShift; code != 0) {
                if (s->begins[word]) sum = 0;
                const Piece& place = s->words[word++];
                if (!(std::abs(sum) < bounds_[code])) {
                    sum = walk(text.slice(place.start, place.end), sum, s,
                               [&](uint32_t id, uint32_t, uint32_t, bool) { out->push(int32_t(id)); });
                    while (i < remembered.size() && uint32_t(remembered.data()[i]) >> kBoundShift == 0) ++i;
                    out->reserve_more(remembered.size() - i);
                    continue;
                }
            }
            const uint32_t id = token & kMaxIds;
            if ((token & kNoScore) == 0) sum = added_[id] + sum;
            if ((token & kNoToken) == 0) {
                *out->end() = int32_t(id);
                out->advance(1);
            }
        }
        return sum;
    }

    // Calls put(id, start, end, own_text) for each token, in order. Adjacent unknown characters are one token, or
    // bytes. Returns the new sum.
    template <typename Put>
    float walk(Bytes text, float first_sum, ModelScratch* scratch, Put&& put) const {
        SingleScratch& s = *static_cast<SingleScratch*>(scratch);
        checked_size(text);
        const Node* const nodes = this->nodes();
        find_steps(text, first_sum, nodes, &s.steps);
        s.ends.clear();
        for (uint32_t end = uint32_t(text.size); end > 0; end = s.steps[end].start) s.ends.push_back(end);
        uint32_t start = 0;
        for (size_t i = s.ends.size(); i-- > 0;) {
            uint32_t end = s.ends[i];
            if (const uint32_t node = s.steps[end].node; node != 0) {
                put(uint32_t(nodes[node].id), start, end, false);
            } else {
                while (i > 0 && s.steps[s.ends[i - 1]].node == 0) end = s.ends[--i];
                if (byte_ids_.empty())
                    put(unk_id_, start, end, true);
                else
                    for (uint32_t at = start; at < end; ++at) put(byte_ids_[text[at]], start, end, false);
            }
            start = end;
        }
        return s.steps[text.size].sum;
    }

    const DoubleArrayView trie_;
    Array<uint32_t> byte_ids_;
    const uint32_t unk_id_;
    std::vector<float> scores_;  // by id
    float unk_score_;
    bool words_are_apart_;
    std::vector<float> added_;             // by id, to be added to the sum: as scores_, but for unknown characters, too
    std::array<float, kBounds> bounds_{};  // by code
    mutable std::atomic<const Node*> nodes_{nullptr};
};

}  // namespace

std::unique_ptr<Model> make_single_precision_unigram(const ModelOptions& options, const Cartridge& cartridge,
                                                     const PieceFacts& facts) {
    return std::make_unique<SinglePrecisionUnigram>(options, cartridge, facts);
}

}  // namespace crayon
