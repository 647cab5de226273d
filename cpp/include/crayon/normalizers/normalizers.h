// The normalizers of a tokenizer.json.
#pragma once

#include <memory>
#include <optional>

#include "crayon/json/json.h"
#include "crayon/normalizers/aligned_text.h"
#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"

namespace crayon {

// What a normalizer does that does nothing else: U+2581 in front of a text, and U+2581 for each space.
struct SpaceMarks {
    bool prepends, replaces;
};

class Normalizer {
  public:
    virtual ~Normalizer() = default;
    // Changes `text` as the reference does. Immutable: any number of threads may call it.
    virtual void normalize(AlignedText* text) const = 0;
    // True when `normalize` surely leaves the text as it is. False may be wrong. Much faster than normalizing.
    virtual bool leaves(Bytes text) const = 0;
    // True when `normalize` surely changes nothing but white space, a character for a character, to other white space.
    virtual bool keeps_words(Bytes text) const { return leaves(text); }
    virtual std::optional<SpaceMarks> space_marks() const { return std::nullopt; }
    // Whether it is known that no text is an error.
    virtual bool takes_any_text() const { return space_marks().has_value(); }
    // Whether the parts of any text with this border become what the whole becomes, and its alignments, when the second
    // one is normalized as a text that continues. The border is then what it is in the normalized text.
    virtual bool divides(Border* border) const {
        (void)border;
        return false;
    }
    // Whether a text that begins like this has alignments that depend on its beginning, up to its end; of an empty one,
    // whether any may. Then it is not for cutting where offsets are wanted, whatever `divides` says.
    virtual bool shifts(Bytes text) const {
        (void)text;
        return false;
    }
};

// From the component as tokenizer.json has it ({"type": ..., ...}; not null). What it needs of `component` it copies.
// Error(vocabulary) for what the reference refuses to load, Error(unsupported) for what is not native; the message
// names the component.
std::unique_ptr<Normalizer> make_normalizer(const json::Value& component);

}  // namespace crayon
