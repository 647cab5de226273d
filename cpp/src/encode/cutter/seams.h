// Finds the seams of a text (crayon/unicode/border.h) for one engine.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"
#include "pipeline/added_matcher.h"
#include "pipeline/pipeline.h"
#include "pipeline/vocabulary.h"

namespace crayon {

class Seams {
  public:
    // The pipeline and the vocabulary must outlive the seams.
    Seams(const Pipeline& pipeline, const Vocabulary& vocabulary, bool special_as_text, bool with_offsets)
        : Seams(pipeline, vocabulary, special_as_text, with_offsets, false) {}
    // The seams between words: cutting there changes no word, whatever the model and the post-processor.
    static Seams of_words(const Pipeline& pipeline, const Vocabulary& vocabulary) {
        return Seams(pipeline, vocabulary, false, false, true);
    }
    // Seams that hold for encodings with offsets and word numbers, before any post-processor.
    static Seams of_encodings(const Pipeline& pipeline, const Vocabulary& vocabulary, bool special_as_text) {
        return Seams(pipeline, vocabulary, special_as_text, true, true);
    }

    // Whether texts have seams: false if some step has no proof for common texts.
    bool exist() const { return exist_; }
    // Whether last_inside can find a seam.
    bool exist_inside() const { return exist_ && !shifts_ && (!matches_whole_ || pipeline_.seams != nullptr); }
    // Returns the last seam of a text that may continue, or 0 if none is found; never the text's end. The text is UTF-8
    // and ends with a whole character. It begins at the start of a text or, if it `continues`, at a seam. The seam is
    // inside a piece between added tokens.
    size_t last(Bytes text, bool continues) const;
    // Returns the last seam after `least` in `part`, which may be any part of a text. The seam holds for ids only.
    // Returns 0 if it finds none, or if the text before the part could matter.
    size_t last_inside(Bytes part, size_t least = 0) const;
    // How many bytes before a seam matter to last_inside. If counts_digits(), all of a run of digits matters, too.
    size_t reach() const;
    bool counts_digits() const { return groups_digits_; }

  private:
    Seams(const Pipeline& pipeline, const Vocabulary& vocabulary, bool special_as_text, bool with_offsets,
          bool words_only);

    // The added tokens that are searched in one text: the original text or the normalized text.
    struct Tokens {
        size_t longest = 0;
        bool strip = false, single_word = false;
        std::array<bool, 256> first_bytes{};
        std::vector<bool> characters;  // by code point: whether a content has it; empty without tokens

        void add(const std::string& content);
        bool any_has(uint32_t code_point) const { return code_point < characters.size() && characters[code_point]; }
        bool divide(const AddedMatcher& matcher, Bytes text, size_t at, const Border& border, size_t* steps_left) const;
    };

    bool any_usual() const;
    bool divides(Bytes text, size_t at, size_t* steps_left) const;
    bool steps_divide(Border border) const;
    bool no_match_reaches_over(const Border& border) const;
    bool ends_digit_group(Bytes text, size_t at) const;
    template <typename OnPlain>
    void for_each_plain(const AddedMatcher& matcher, Bytes text, size_t base, bool goes_on, OnPlain&& on_plain) const;
    size_t last_match(Bytes text) const;
    std::vector<MatchedPart> shifted_pieces(Bytes text, bool continues) const;

    const Pipeline& pipeline_;
    const Vocabulary& vocabulary_;
    const bool special_as_text_;
    const bool words_only_;
    const bool shifts_;  // some pieces have alignments that must not be cut, and offsets are wanted
    Tokens plain_, normalized_;
    bool groups_digits_ = false;  // cuts runs of digits into groups of three
    bool matches_whole_ = false;  // cuts a text into the longest tokens of bytes, without an earlier step
    bool exist_ = false;
};

// The seams of one pipeline and vocabulary, built at first use.
class LazySeams {
  public:
    ~LazySeams();
    // Seams for ids.
    const Seams& get(const Pipeline& pipeline, const Vocabulary& vocabulary, bool special_as_text) const;
    // Seams that also hold for offsets: Seams::of_encodings.
    const Seams& of_encodings(const Pipeline& pipeline, const Vocabulary& vocabulary, bool special_as_text) const;

  private:
    mutable std::atomic<const Seams*> made_[4] =
        {};  // for ids: special tokens are searched, special tokens are text; then the same two for offsets
};

}  // namespace crayon
