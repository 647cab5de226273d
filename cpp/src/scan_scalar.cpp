// Window masks without instruction-set extensions: eight bytes in a word.
#include <cstring>

#include "scan_kernels.h"
#include "scan_window.h"

namespace crayon {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080u;

constexpr uint64_t in_each_byte(uint8_t byte) {
    return 0x0101010101010101u * byte;
}

// The tests below take words whose bytes are all below 0x80 and answer in the high bit of each byte; a sum or
// difference of such bytes never reaches the next one. (Warren, Hacker's Delight, 2-18.)
inline uint64_t equal_to(uint64_t word, uint8_t byte) {
    return kHighBits - (word ^ in_each_byte(byte));
}

inline uint64_t in_range(uint64_t word, uint8_t first, uint8_t last) {
    const uint64_t at_least = word + in_each_byte(static_cast<uint8_t>(0x80 - first));
    const uint64_t beyond = word + in_each_byte(static_cast<uint8_t>(0x7F - last));
    return at_least & ~beyond;
}

// The eight high bits, side by side: the product moves each of them to its place in the top byte.
inline uint64_t gather(uint64_t word) {
    return ((word & kHighBits) >> 7) * 0x0102040810204080u >> 56;
}

struct Portable {
    template <Family family>
    static Masks classify(const uint8_t* p) {
        constexpr Rules rules = rules_of(family);
        Masks m{0, 0, 0, 0, 0, 0, 0, 0, 0};
        for (uint32_t shift = 0; shift < kWindow; shift += 8) {
            uint64_t raw;
            std::memcpy(&raw, p + shift, 8);
            m.ascii |= gather(~raw) << shift;
            // The window ends before the first byte that is not ASCII: what becomes of it here does not matter, and
            // what comes behind its word even less.
            const uint64_t word = raw & ~kHighBits;
            const uint64_t blank = equal_to(word, ' ');
            m.letters |= gather(in_range(word | in_each_byte(0x20), 'a', 'z')) << shift;
            m.numbers |= gather(in_range(word, '0', '9')) << shift;
            m.blanks |= gather(blank) << shift;
            m.spaces |= gather(blank | in_range(word, 9, 13)) << shift;
            if constexpr (rules.contractions != Contractions::none) m.quotes |= gather(equal_to(word, '\'')) << shift;
            if constexpr (rules.words == Words::cased) m.upper |= gather(in_range(word, 'A', 'Z')) << shift;
            if constexpr (rules.breaks) m.breaks |= gather(equal_to(word, '\n') | equal_to(word, '\r')) << shift;
            if constexpr (rules.slashes) m.slashes |= gather(equal_to(word, '/')) << shift;
            if (raw != word) break;
        }
        return m;
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
    switch (family) {
        case Family::whole:
            return scan_whole;
        case Family::gpt2:
            return scan_windows<Portable, Family::gpt2>;
        case Family::cl100k:
            return scan_windows<Portable, Family::cl100k>;
        case Family::llama3:
            return scan_windows<Portable, Family::llama3>;
        case Family::qwen2:
            return scan_windows<Portable, Family::qwen2>;
        case Family::o200k:
            return scan_windows<Portable, Family::o200k>;
        case Family::tekken:
            return scan_windows<Portable, Family::tekken>;
    }
    return nullptr;
}

}  // namespace crayon
