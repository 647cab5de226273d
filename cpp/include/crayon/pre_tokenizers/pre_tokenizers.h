// The pre-tokenizers of a tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "crayon/json/json.h"
#include "crayon/normalizers/aligned_text.h"
#include "crayon/regex/regex.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/unicode/border.h"

namespace crayon {

// A text between added tokens, cut into pieces: in order, not empty, and disjoint. What lies between them was removed;
// where nothing was, they touch each other.
struct PieceList {
    AlignedText text;
    std::vector<Piece> pieces;  // to begin with one, the whole text; none when that is empty
    size_t base = 0;            // where in the original text the alignments' 0 is, in bytes
    bool continues = false;     // other text stands before the original text
    // Working memory of pre-tokenizers: a step that changes the text writes the new one here and swaps.
    AlignedText spare_text;
    std::vector<Piece> spare_pieces;
};

class PreTokenizer {
  public:
    virtual ~PreTokenizer() = default;
    // Cuts each piece as the reference does, and may change the text. Immutable: any number of threads may call it.
    virtual void split(PieceList* list) const = 0;
    // True when `split` gives the right pieces only of a text with alignments (it looks at where a piece comes from).
    virtual bool needs_alignments() const { return false; }
    // True when it does so behind a step that changes the text: then even a text that no normalizer changed needs them.
    virtual bool needs_own_alignments() const { return false; }
    // True when it may change the text.
    virtual bool rewrites() const { return false; }
    // What is known of some: white_split cuts at white space and drops it, all of it alike; white_runs does so, and
    // besides cuts by other characters; space_marks puts U+2581 before each piece, unless it begins so, and for each
    // space, and cuts before it.
    enum class Shape { other, white_split, white_runs, space_marks };
    virtual Shape shape() const { return Shape::other; }
    // Of white_split and then space_marks the first, else null.
    virtual const PreTokenizer* words_to_mark() const { return nullptr; }
    // Whether the pieces are the same when one white character of the text takes the place of another.
    bool drops_white() const {
        return shape() == Shape::white_split || shape() == Shape::white_runs || words_to_mark() != nullptr;
    }
    // Adds what a text must have, any of them, to be cut or changed; false where that is not known.
    virtual bool add_needed(std::vector<Regex::Needed>*) const { return false; }
    // What it does to any text with this border when that is cut there, and the second part is split as one that
    // continues. The border is then what it is in the text that it leaves; behind `apart` that does not matter.
    virtual Division divides(Border* border) const {
        (void)border;
        return Division::none;
    }
};

struct PreTokenizerOptions {
    // The ByteLevel that comes last, at the end of a Sequence too, leaves bytes as they are in place of spelling them
    // in its alphabet: the model works on bytes. A ByteLevel anywhere else spells.
    bool raw_bytes = false;
    Flavor flavor = Flavor::oniguruma;
    CpuLevel level = CpuLevel::scalar;  // for the hand-made scanners (pattern_families.h)
};

// From the component as tokenizer.json has it (not null). What it needs of `component` it copies. Errors as for
// make_normalizer.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const json::Value& component, const PreTokenizerOptions& options);

// True when the component is a ByteLevel or a Sequence that ends (at any depth) in one, and has no other ByteLevel.
bool ends_in_byte_level(const json::Value& component);

}  // namespace crayon
