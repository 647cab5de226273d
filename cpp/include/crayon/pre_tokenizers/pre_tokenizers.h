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
#include "crayon/simd/kernels.h"
#include "crayon/unicode/border.h"

namespace crayon {

// A text between added tokens, cut into pieces: in order, not empty, disjoint. Pieces touch each other unless the text
// between them was removed.
struct PieceList {
    AlignedText text;
    std::vector<Piece> pieces;  // Initially one piece, the whole text; none if it is empty.
    size_t base = 0;            // The byte of the original text that alignment 0 refers to.
    bool continues = false;     // Whether other text precedes the original text.
    // Working memory: a step that changes the text writes the new one here and swaps.
    AlignedText spare_text;
    std::vector<Piece> spare_pieces;
};

class PreTokenizer {
  public:
    virtual ~PreTokenizer() = default;
    // Cuts each piece as the reference does, and may change the text. Immutable: any number of threads may call it.
    virtual void split(PieceList* list) const = 0;
    // Whether `split` needs alignments to find the right pieces, because it looks at a piece's origin.
    virtual bool needs_alignments() const { return false; }
    // Whether `split` looks at origins after a step that changed the text. Then even unnormalized text needs
    // alignments.
    virtual bool needs_own_alignments() const { return false; }
    // Whether `split` may change the text.
    virtual bool rewrites() const { return false; }
    // A known shape that allows shortcuts.
    // white_split: cuts at white space of any kind and drops it.
    // white_runs: does what white_split does, and also cuts at other characters.
    // space_marks: puts U+2581 before each piece unless it begins so, replaces spaces by U+2581, and cuts before each
    // U+2581.
    enum class Shape { other, white_split, white_runs, space_marks };
    virtual Shape shape() const { return Shape::other; }
    // Returns the first step if this is a white_split followed by space_marks, else null.
    virtual const PreTokenizer* words_to_mark() const { return nullptr; }
    // Whether replacing one white-space character of the text by another keeps the pieces.
    bool drops_white() const {
        return shape() == Shape::white_split || shape() == Shape::white_runs || words_to_mark() != nullptr;
    }
    // Appends requirements: a text that fulfils none of them is neither cut nor changed. Returns false if no such list
    // is known.
    virtual bool add_needed(std::vector<Regex::Needed>*) const { return false; }
    // How `split` treats a text that is cut at this border (border.h), if the second part is split as one that
    // `continues`. Updates the border to that of the changed text; after `apart` its value does not matter.
    virtual Division divides(Border* border) const {
        (void)border;
        return Division::none;
    }
};

struct PreTokenizerOptions {
    // The last ByteLevel, also at the end of a Sequence, leaves bytes unspelled, because the model works on bytes. A
    // ByteLevel elsewhere spells them in its alphabet.
    bool raw_bytes = false;
    Flavor flavor = Flavor::oniguruma;
    const Kernels& kernels = kScalarKernels;
};

// Makes a pre-tokenizer from its JSON in a tokenizer.json (not null), and copies all that it needs. Throws the errors
// of make_normalizer.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const json::Value& component, const PreTokenizerOptions& options);

// True if the component is a ByteLevel or a Sequence that ends (at any depth) in one, and has no other ByteLevel.
bool ends_in_byte_level(const json::Value& component);

}  // namespace crayon
