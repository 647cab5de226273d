// What encoding one input gives: parallel arrays, one element per token, as tokenizers.Encoding has them.
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

// The string of tokens that show other text than their id's own: an added token that took white space along with it,
// padding, a template's special token.
struct TokenText {
    uint32_t index;  // of the first token in the encoding
    std::string text;
    uint32_t count = 1;  // so many tokens, one after the other, have this text
};

// The tokens [start, end) are of one input sequence.
struct SequenceRange {
    size_t sequence;
    uint32_t start;
    uint32_t end;
};

struct Encoding {
    std::vector<int32_t> ids;  // of padding, any 32 bits
    std::vector<uint32_t> type_ids;
    std::vector<Offset> offsets;
    std::vector<int32_t> words;              // kNoWord for tokens that a post-processor added
    std::vector<uint8_t> special;            // the special-tokens mask
    std::vector<uint8_t> attention;          // all 1 until padded
    std::vector<TokenText> texts;            // in order, disjoint; usually none
    std::vector<SequenceRange> ranges;       // one per sequence; none: all tokens are of sequence 0
    std::vector<Encoding> overflowing = {};  // what truncation cut off, in pieces

    size_t size() const { return ids.size(); }
};

// Says that all tokens are of `sequence`, besides what was said before.
void set_sequence(Encoding* encoding, size_t sequence);

// Appends `from` to `to`; a sequence that both have is then where `from` has it. Overflowing ones are combined, each
// with each. With `growing_offsets` those of `from` go on where the last token of `to` ends. The reference's
// merge_with.
void append(Encoding* to, Encoding&& from, bool growing_offsets = false);

// A part of one text, and how many characters and words of the text it has.
struct EncodingPart {
    Encoding encoding;
    uint32_t characters = 0;
    int32_t words = 0;
};
// The encoding of the text whose parts these are, in order. Leaves them empty.
Encoding join(std::vector<EncodingPart>* parts);

size_t n_sequences(const Encoding& encoding);
// Of each token, kNoSequence for tokens that no range has.
std::vector<int32_t> sequence_ids(const Encoding& encoding);

// The string of an id, where `texts` has none.
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

// Writes every token's string to `texts`, overflowing ones included, so that no vocabulary is needed any more.
void own_texts(Encoding* encoding, const TokenStringOf& string_of);

// The JSON that tokenizers pickles.
std::string to_json(const Encoding& encoding, const TokenStringOf& string_of);
// The inverse; all texts are the encoding's own. Error(vocabulary) for what is no such JSON, or has arrays of unlike
// length or numbers out of range.
Encoding encoding_from_json(std::string_view text);

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
