// The tokens of an engine: its cartridge's, and in place of the cartridge's added tokens those of the engine.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/engine/engine.h"
#include "crayon/normalizers/normalizers.h"
#include "engine/added_matcher.h"
#include "unicode/byte_level.h"

namespace crayon {

class Vocabulary {
  public:
    // The added tokens of the cartridge, whose tries are used in place. `normalizer` may be null.
    Vocabulary(const Cartridge& cartridge, const Normalizer* normalizer);
    // Others. Their ids are those of model tokens with the same string, or no model token's.
    // Error(vocabulary) for an id or a content that two tokens claim, Error(unsupported) for what is not native.
    Vocabulary(const Cartridge& cartridge, const std::vector<AddedTokenSpec>& added, const Normalizer* normalizer);

    uint32_t n_ids() const { return n_ids_; }
    uint32_t size(bool with_added) const { return with_added ? size_ : cartridge_.program().model_size; }
    bool has(int64_t id) const { return id >= 0 && id < int64_t(n_ids_) && (flags(uint32_t(id)) & kPresent); }
    uint8_t flags(uint32_t id) const { return flags_[id]; }
    // A token of the model that is not added and not special: its bytes are the cartridge's.
    bool is_ordinary(uint32_t id) const { return (flags_[id] & (kPresent | kAdded | kSpecial)) == kPresent; }
    // The string by which the vocabulary knows the token.
    std::string content_of(uint32_t id) const;
    // The string that stands for the id: the content, but of a normalized added token what the normalizer makes of it.
    std::string text_of(uint32_t id) const;
    // Whether text and content differ.
    bool is_respelled(uint32_t id) const { return !respelled_.empty() && respelled_.count(id) != 0; }
    // The bytes that a byte-level token's text spells, or the text.
    Bytes bytes_of(uint32_t id) const;
    // Whether decoding leaves the id out when special tokens are skipped: the reference looks for its text among the
    // contents of special tokens.
    bool is_skipped(uint32_t id) const;
    WhiteEnds white_ends_of(uint32_t id) const;
    int64_t find(std::string_view token) const;  // -1 when there is none

    // In order of addition.
    Array<AddedToken> added() const { return added_; }
    const AddedMatcher& matcher() const { return matcher_; }
    const AddedMatcher& normalized_matcher() const { return normalized_matcher_; }

  private:
    struct Spelling {
        std::string text, bytes;
    };
    Bytes content_bytes(uint32_t id) const;
    int64_t find_bytes(const std::string& token) const;  // of a byte-level token
    bool is_content(uint32_t id, std::string_view token) const;
    void spell_normalized(const Normalizer* normalizer);
    void note_special_starts();

    const Cartridge& cartridge_;
    uint32_t n_ids_, size_;
    const uint8_t* flags_;
    Array<AddedToken> added_;
    AddedMatcher matcher_, normalized_matcher_;
    std::unordered_map<uint32_t, Spelling> respelled_;  // of added tokens that the normalizer changes
    // The first bytes of special tokens, where others can have the same string: in a Unigram model. Else none.
    std::array<bool, 256> special_starts_{};
    // Of an engine with added tokens of its own.
    std::vector<uint8_t> own_flags_;
    std::vector<AddedToken> own_added_;
    std::unordered_map<uint32_t, std::string> own_bytes_;  // of ids that are not the model's
    std::unordered_map<std::string, uint32_t> own_ids_;    // by string
    DoubleArray trie_, normalized_trie_;
};

// The tries over added contents that matchers need: for contents that are looked for in the text as it is, and for
// those looked for in the normalized text. Values are indices into `added`.
struct AddedTries {
    DoubleArray plain, normalized;
};
AddedTries build_added_tries(const std::vector<AddedTokenSpec>& added, const Normalizer* normalizer);

// `text` as a normalizer, or null, leaves it.
std::string normalized_text(const std::string& text, const Normalizer* normalizer);

}  // namespace crayon
