// Window masks without instruction-set extensions: eight bytes in a word.
#include <cstring>

#include "scan/scan_kernels.h"
#include "scan/scan_window.h"
#include "support/bits.h"

namespace crayon {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080u;

constexpr uint64_t in_each_byte(uint8_t byte) {
    return 0x0101010101010101u * byte;
}

// The tests below take words of bytes below 0x80, and answer in the high bit of each byte. Sums and differences of such
// bytes never carry into the next byte. (Warren, Hacker's Delight, 2-18.)
inline uint64_t equal_to(uint64_t word, uint8_t byte) {
    return kHighBits - (word ^ in_each_byte(byte));
}

inline uint64_t in_range(uint64_t word, uint8_t first, uint8_t last) {
    const uint64_t at_least = word + in_each_byte(static_cast<uint8_t>(0x80 - first));
    const uint64_t beyond = word + in_each_byte(static_cast<uint8_t>(0x7F - last));
    return at_least & ~beyond;
}

// Collects the eight high bits.
inline uint64_t gather(uint64_t word) {
    return lowest_bits_of_bytes(word >> 7);
}

struct Portable {
    static constexpr size_t kShortest = 16;

    struct Bytes {
        uint64_t words[8];
    };

    static Bytes load(const uint8_t* p, size_t left) {
        Bytes bytes{};
        if (left >= kWindow) {
            std::memcpy(bytes.words, p, kWindow);
        } else {
            std::memcpy(bytes.words, p, left);
        }
        return bytes;
    }

    static uint64_t not_ascii(const Bytes& bytes) {
        uint64_t found = 0;
        for (uint32_t i = 0; i < 8; ++i) found |= gather(bytes.words[i]) << 8 * i;
        return found;
    }

    template <Family family>
    static void classify(const Bytes& bytes, Masks& m) {
        constexpr Rules rules = rules_of(family);
        m = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        for (uint32_t i = 0; i < 8; ++i) {
            const uint32_t shift = 8 * i;
            const uint64_t word = bytes.words[i] & ~kHighBits;
            const uint64_t blank = equal_to(word, ' ');
            m.letters |= gather(in_range(word | in_each_byte(0x20), 'a', 'z')) << shift;
            m.numbers |= gather(in_range(word, '0', '9')) << shift;
            m.blanks |= gather(blank) << shift;
            m.spaces |= gather(blank | in_range(word, 9, 13)) << shift;
            if constexpr (rules.contractions != Contractions::none) m.quotes |= gather(equal_to(word, '\'')) << shift;
            if constexpr (rules.words == Words::cased) m.upper |= gather(in_range(word, 'A', 'Z')) << shift;
            if constexpr (rules.breaks) m.breaks |= gather((equal_to(word, '\n') | equal_to(word, '\r'))) << shift;
            if constexpr (rules.slashes) m.slashes |= gather(equal_to(word, '/')) << shift;
        }
    }

    // One character at a time.
    template <Family family>
    static uint32_t classify_multibyte(const uint8_t* p, const Bytes&, uint64_t not_ascii, uint32_t size, Masks& m) {
        constexpr bool cased = rules_of(family).words == Words::cased;
        const uint8_t* const end = p + size;
        for (uint64_t left = not_ascii; left != 0;) {
            const uint32_t index = lowest_bit(left);
            const ClassifiedChar c = read_multibyte(p + index, end);
            if (c.size == 1) return index;
            const uint64_t bytes = bits_below(index + c.size) & ~bits_below(index);
            left &= ~bytes;
            m.continuations |= bytes & ~bit(index);
            if (c.set & (cased ? kLetters | kCaseless : kLetters)) m.letters |= bytes;
            if (c.set & kNumbers) m.numbers |= bytes;
            if (c.set & kSpaces) m.spaces |= bytes;
            if constexpr (cased) {
                if (c.set & set_of(CharClass::upper)) m.upper |= bytes;
                if (c.set & kCaseless) m.caseless |= bytes;
                if (c.set & set_of(CharClass::mark)) m.marks |= bit(index);
            }
        }
        return size;
    }

    static size_t store(uint64_t starts, size_t pos, size_t* ends) {
        size_t count = 0;
        for (; starts != 0; starts &= starts - 1) ends[count++] = pos + lowest_bit(starts);
        return count;
    }
};

size_t scan_whole(const uint8_t*, size_t size, size_t pos, size_t* ends, size_t capacity) {
    if (pos >= size || capacity == 0) return 0;
    ends[0] = size;
    return 1;
}

}  // namespace

ScanFunction scalar_scanner(Family family) {
    return family == Family::whole ? scan_whole : scanner_of<Portable>(family);
}

}  // namespace crayon
