// SentencePiece's charsmap: a Darts-clone double array over bytes (S. Yata, 2011) and the NUL-terminated replacements.
// Searches the trie without unpacking it, and checks every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crayon {

class Charsmap {
  public:
    // Throws Error(vocabulary) if the bytes are not a charsmap. Searches that leave the trie throw this error, too.
    explicit Charsmap(const std::string& bytes);

    bool empty() const { return units_.empty(); }

    // Finds the shortest key that begins at `p`, and sets `replacement` to its replacement. Returns the key's size, or
    // 0 if no key begins there.
    size_t find_shortest(const uint8_t* p, const uint8_t* end, std::string_view* replacement) const {
        return find<false>(p, end, replacement);
    }
    // Does what find_shortest does, for the longest key.
    size_t find_longest(const uint8_t* p, const uint8_t* end, std::string_view* replacement) const {
        return find<true>(p, end, replacement);
    }

    // Whether the byte is a key, or begins a key whose second byte is ASCII.
    bool begins_with_ascii(uint8_t byte) const;

  private:
    template <bool kLongest>
    size_t find(const uint8_t* begin, const uint8_t* end, std::string_view* replacement) const {
        size_t size = 0;
        size_t at = offset(unit(0));
        for (const uint8_t* p = begin; p < end && *p != 0;) {
            at ^= *p;
            const uint32_t found = unit(at);
            if ((found & (0x80000000u | 0xFF)) != *p) break;
            at ^= offset(found);
            ++p;
            if (!(found & 0x100)) continue;
            *replacement = replacement_at(unit(at) & 0x7FFFFFFFu);
            size = size_t(p - begin);
            if (!kLongest) break;
        }
        return size;
    }

    uint32_t unit(size_t at) const {
        if (at >= units_.size()) refuse("the trie of precompiled_charsmap leads outside itself");
        return units_[at];
    }

    static size_t offset(uint32_t unit) { return size_t(unit >> 10) << ((unit & 0x200) >> 6); }
    std::string_view replacement_at(size_t at) const;
    [[noreturn]] static void refuse(const char* why);

    std::vector<uint32_t> units_;
    std::string replacements_;
};

}  // namespace crayon
