// The normalizers of a tokenizer.json.
#pragma once

#include <memory>
#include <optional>

#include "crayon/json/json.h"
#include "crayon/normalizers/aligned_text.h"
#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"

namespace crayon {

// A normalizer that only adds U+2581 in front of a text, or replaces each space by U+2581, or both.
struct SpaceMarks {
    bool prepends, replaces;
};

class Normalizer {
  public:
    virtual ~Normalizer() = default;
    // Changes `text` as Hugging Face tokenizers (the reference) does. Immutable: any number of threads may call it.
    virtual void normalize(AlignedText* text) const = 0;
    // Whether `normalize` surely leaves the text unchanged. Much faster than `normalize`.
    virtual bool leaves(Bytes text) const = 0;
    // Whether `normalize` surely changes nothing but white-space characters, each to another white-space character.
    virtual bool keeps_words(Bytes text) const { return leaves(text); }
    virtual std::optional<SpaceMarks> space_marks() const { return std::nullopt; }
    // Whether normalizing any text surely succeeds.
    virtual bool takes_any_text() const { return space_marks().has_value(); }
    // Whether any text with this border normalizes to the concatenation of its normalized parts, with the same
    // alignments. The second part is normalized as a text that `continues`. Updates the border to that of the
    // normalized text.
    virtual bool divides(Border* border) const {
        (void)border;
        return false;
    }
    // Whether the beginning of `text` can change alignments up to the text's end; an empty `text` asks this about any
    // text. Such a text must not be cut if offsets are wanted, whatever `divides` says.
    virtual bool shifts(Bytes text) const {
        (void)text;
        return false;
    }
};

// Makes a normalizer from its JSON in a tokenizer.json ({"type": ..., ...}; not null), and copies all that it needs.
// Throws Error(vocabulary) if the reference refuses to load the component, and Error(unsupported) if this library does
// not implement the component. The message names the component.
std::unique_ptr<Normalizer> make_normalizer(const json::Value& component);

}  // namespace crayon
