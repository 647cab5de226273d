// The encoding of one input: parallel arrays with one element per token, as in tokenizers.Encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crayon {

struct Offset {
    uint32_t start;  // in characters (code points) of the original text
    uint32_t end;
};

constexpr int32_t kNoWord = -1;
constexpr int32_t kNoSequence = -1;

// The string of tokens that differs from the vocabulary's string of their id: of an added token with stripped white
// space, of padding, or of a template's special token.
struct TokenText {
    uint32_t index;  // of the first token in the encoding
    std::string text;
    uint32_t count = 1;  // number of consecutive tokens with this text
};

// The tokens [start, end) belong to one input sequence.
struct SequenceRange {
    size_t sequence;
    uint32_t start;
    uint32_t end;
};

struct Encoding {
    std::vector<int32_t> ids;  // Padding may have any 32 bits.
    std::vector<uint32_t> type_ids;
    std::vector<Offset> offsets;
    std::vector<int32_t> words;              // kNoWord for tokens that a post-processor added.
    std::vector<uint8_t> special;            // The special-tokens mask.
    std::vector<uint8_t> attention;          // All 1 until padded.
    std::vector<TokenText> texts;            // In order, disjoint, usually none.
    std::vector<SequenceRange> ranges;       // One per sequence; none: all tokens are of sequence 0.
    std::vector<Encoding> overflowing = {};  // The parts that truncation cut off.
    bool is_cut = false;                     // `overflowing` lacks parts: Engine::encode did not read the whole text.

    size_t size() const { return ids.size(); }
};

// Marks all tokens as part of `sequence`, in addition to earlier marks.
void set_sequence(Encoding* encoding, size_t sequence);

// The reference's merge_with: appends `from` to `to`. If both have a range for a sequence, the range of `from` counts.
// Overflowing encodings are combined pairwise. `growing_offsets` shifts the offsets of `from` by the end of the last
// token of `to`.
void append(Encoding* to, Encoding&& from, bool growing_offsets = false);

// The encoding of a part of a text, with the part's size in characters and words.
struct EncodingPart {
    Encoding encoding;
    uint32_t characters = 0;
    int32_t words = 0;
};
// Joins the encodings of n consecutive parts of one text. Leaves them empty.
Encoding join(EncodingPart* parts, size_t n);

size_t n_sequences(const Encoding& encoding);
// Returns the sequence of each token, or kNoSequence for a token outside all ranges.
std::vector<int32_t> sequence_ids(const Encoding& encoding);

// Gives the string of an id whose token has none in `texts`.
using TokenStringOf = std::function<std::string(uint32_t id)>;

// Calls use(index, text) for every token, in order.
template <typename StringOf, typename Use>
void for_each_text(const Encoding& encoding, StringOf&& string_of, Use&& use) {
    auto own = encoding.texts.begin();
    for (size_t i = 0; i < encoding.size(); ++i) {
        while (own != encoding.texts.end() && own->index + size_t(own->count) <= i) ++own;
        if (own != encoding.texts.end() && own->index <= i)
            use(i, own->text);
        else
            use(i, string_of(uint32_t(encoding.ids[i])));
    }
}

// Writes every token's string to `texts`, also in overflowing encodings, so that they need no vocabulary.
void own_texts(Encoding* encoding, const TokenStringOf& string_of);

// The JSON that tokenizers pickles.
std::string to_json(const Encoding& encoding, const TokenStringOf& string_of);
// The inverse of to_json. The encoding owns all its token strings. Throws Error(vocabulary) for invalid JSON, arrays of
// unequal length, or numbers out of range.
Encoding encoding_from_json(std::string_view text);

// Lookups with the answers of tokenizers.Encoding. As there, a sequence that does not exist means the whole encoding.
using IndexPair = std::pair<size_t, size_t>;
std::optional<IndexPair> word_to_tokens(const Encoding& encoding, uint32_t word, size_t sequence);
std::optional<Offset> word_to_chars(const Encoding& encoding, uint32_t word, size_t sequence);
std::optional<size_t> token_to_sequence(const Encoding& encoding, size_t token);
std::optional<Offset> token_to_chars(const Encoding& encoding, size_t token);
std::optional<uint32_t> token_to_word(const Encoding& encoding, size_t token);
std::optional<size_t> char_to_token(const Encoding& encoding, size_t position, size_t sequence);
std::optional<uint32_t> char_to_word(const Encoding& encoding, size_t position, size_t sequence);

}  // namespace crayon
