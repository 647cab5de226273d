// What encoding one input gives: parallel arrays, one element per token, as tokenizers.Encoding has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crayon {

struct Offset {
    uint32_t start;  // in characters (code points) of the original text
    uint32_t end;
};

constexpr int32_t kNoWord = -1;
constexpr int32_t kNoSequence = -1;

// The string of a token that shows other text than its id's own: an added token that took white space along with it.
struct TokenText {
    uint32_t index;  // of the token in the encoding
    std::string text;
};

// The tokens [start, end) are of one input sequence.
struct SequenceRange {
    uint32_t sequence;
    uint32_t start;
    uint32_t end;
};

struct Encoding {
    std::vector<int32_t> ids;
    std::vector<uint32_t> type_ids;
    std::vector<Offset> offsets;
    std::vector<int32_t> words;      // kNoWord for tokens that a post-processor added
    std::vector<int32_t> sequences;  // 0 or 1, kNoSequence for tokens that a post-processor added
    std::vector<uint8_t> special;    // the special-tokens mask
    std::vector<uint8_t> attention;  // all 1 until padded
    uint32_t n_sequences = 1;
    std::vector<TokenText> texts;       // in order of index; usually none
    std::vector<SequenceRange> ranges;  // one per sequence; none: all tokens are of sequence 0

    size_t size() const { return ids.size(); }
};

// Says that all tokens are of `sequence`, besides what was said before. `sequences` and `n_sequences` are left alone.
void set_sequence(Encoding* encoding, uint32_t sequence);

// Appends `from` to `to`, which keeps its own offsets; a sequence that both have is then where `from` has it. The
// reference's merge_with with growing_offsets=false. `sequences` and `n_sequences` are left for update_sequences.
void append(Encoding* to, Encoding&& from);

// Writes `sequences` and `n_sequences` anew from `ranges`.
void update_sequences(Encoding* encoding);

// Lookups, with the reference's answers on odd questions too: a sequence that does not exist is the whole encoding.
using IndexPair = std::pair<size_t, size_t>;
std::optional<IndexPair> word_to_tokens(const Encoding& encoding, uint32_t word, size_t sequence);
std::optional<Offset> word_to_chars(const Encoding& encoding, uint32_t word, size_t sequence);
std::optional<size_t> token_to_sequence(const Encoding& encoding, size_t token);
std::optional<Offset> token_to_chars(const Encoding& encoding, size_t token);
std::optional<uint32_t> token_to_word(const Encoding& encoding, size_t token);
std::optional<size_t> char_to_token(const Encoding& encoding, size_t position, size_t sequence);
std::optional<uint32_t> char_to_word(const Encoding& encoding, size_t position, size_t sequence);

}  // namespace crayon
