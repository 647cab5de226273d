// SentencePiece's normalization rules (precompiled_charsmap) as a list of keys and replacements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/normalizers/normalizers.h"
#include "crayon/support/bytes.h"

namespace crayon {

class CharsmapRules {
  public:
    using Pair = std::pair<std::string_view, std::string_view>;  // a key and its replacement

    // Throws Error(vocabulary) if the data is damaged.
    explicit CharsmapRules(std::string charsmap);
    CharsmapRules(const CharsmapRules&) = delete;

    size_t size() const { return rules_.size(); }
    // Whether the key of a rule is a single character.
    bool is_character(size_t i) const { return rules_[i].is_single; }
    Pair operator[](size_t i) const;

    // Applies the rules: from left to right, the longest key that matches.
    std::string apply(std::string_view text) const;

    // For each proper prefix of two or more characters of a key: the sorted last characters of keys that extend it by
    // one. Prefixes are in the order of the rules.
    struct Following {
        std::string_view start;
        std::vector<uint32_t> chars;
    };
    // `orphan` gets the first key with a prefix of several characters that is not a key itself; else it is unchanged.
    std::vector<Following> following(std::string_view* orphan) const;

    // The inputs for which a normalizer's result differs from the rules: single characters, and keys of several
    // characters with the rules' replacements. Each input is normalized between two NULs, which no rule contains.
    struct Differences {
        std::vector<uint32_t> chars;
        std::vector<Pair> sequences;
    };
    Differences differences(const Normalizer& normalizer) const;

  private:
    struct Rule {
        size_t key, key_size;      // in keys_
        size_t value, value_size;  // in charsmap_
        bool is_single;            // the key is one character
    };

    uint32_t unit(size_t place) const;
    // Whether the trie node with this `base` has a child by the byte. The child is unit `base` XOR byte.
    bool has_child(size_t base, uint8_t label) const;
    void read_trie();
    void add_rule(std::string_view key, size_t value);
    // Returns false if the text is not a key.
    bool find(std::string_view key, std::string_view* value) const;
    std::string_view value_at(size_t offset) const;
    void compare_chars(const Normalizer& normalizer, std::vector<uint32_t>* differing) const;
    void compare_sequences(const Normalizer& normalizer, std::vector<Pair>* differing) const;

    std::string charsmap_;
    size_t units_ = 0;               // of the trie
    size_t outputs_ = 0;             // where the replacements begin
    bool has_utf8_outputs_ = false;  // all replacements are valid UTF-8
    std::string keys_;
    std::vector<Rule> rules_;
};

}  // namespace crayon
