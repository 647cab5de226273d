// The tokens of an engine: the tokens of its cartridge, in which the engine's own added tokens may replace the
// cartridge's.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/normalizers/normalizers.h"
#include "pipeline/added_matcher.h"
#include "unicode/byte_level.h"

namespace crayon {

class Vocabulary {
  public:
    // The added tokens of the cartridge, whose tries are used in place. `normalizer` may be null.
    Vocabulary(const Cartridge& cartridge, const Normalizer* normalizer);
    // Replaces the cartridge's added tokens by `added`. Each has the id of the model's token with the same string, or
    // an id outside the model. Throws Error(vocabulary) if two tokens claim an id or a content, and Error(unsupported)
    // if this library cannot search for the added tokens.
    Vocabulary(const Cartridge& cartridge, const std::vector<AddedTokenSpec>& added, const Normalizer* normalizer);

    uint32_t n_ids() const { return n_ids_; }
    uint32_t size(bool with_added) const { return with_added ? size_ : cartridge_.program().model_size; }
    size_t longest_token() const { return cartridge_.program().max_token_bytes; }  // of the model, in bytes
    bool has(int64_t id) const { return id >= 0 && id < int64_t(n_ids_) && (flags(uint32_t(id)) & kPresent); }
    uint8_t flags(uint32_t id) const { return flags_[id]; }
    // Whether the id's token belongs to the model and is neither added nor special. Its bytes are then the cartridge's.
    bool is_ordinary(uint32_t id) const { return (flags_[id] & (kPresent | kAdded | kSpecial)) == kPresent; }
    // The vocabulary's string of the token.
    std::string content_of(uint32_t id) const;
    // The string that an encoding shows for the id: the token's content, normalized if it is an added token of
    // kNormalized.
    std::string text_of(uint32_t id) const;
    // Whether text_of and content_of differ.
    bool is_respelled(uint32_t id) const { return !respelled_.empty() && respelled_.count(id) != 0; }
    // The bytes that a byte-level token's text spells, or the text.
    Bytes bytes_of(uint32_t id) const;
    // Whether decoding that skips special tokens skips the id. As in Hugging Face tokenizers, the id's text is looked
    // up among the contents of special tokens.
    bool is_skipped(uint32_t id) const;
    WhiteEnds white_ends_of(uint32_t id) const;
    int64_t find(std::string_view token) const;  // -1 if unknown

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
    // The first bytes of special tokens, if other tokens can have the same string (in a Unigram model). Otherwise
    // empty.
    std::array<bool, 256> special_starts_{};
    // For an engine with added tokens of its own.
    std::vector<uint8_t> own_flags_;
    std::vector<AddedToken> own_added_;
    std::unordered_map<uint32_t, std::string> own_bytes_;  // of ids outside the model
    std::unordered_map<std::string, uint32_t> own_ids_;    // by string
    DoubleArray trie_, normalized_trie_;
};

// The tries over added contents for matchers: contents to find in the original text, and contents to find in the
// normalized text. Values are indices into `added`.
struct AddedTries {
    DoubleArray plain, normalized;
};
AddedTries build_added_tries(const std::vector<AddedTokenSpec>& added, const Normalizer* normalizer);

// `text` after a normalizer, or unchanged if it is null.
std::string normalized_text(const std::string& text, const Normalizer* normalizer);

}  // namespace crayon
