// Sets of characters in the form that matching tests them in.
#include <algorithm>
#include <map>

#include "regex_program.h"

namespace crayon::regex {

namespace {

uint32_t lead_first(uint32_t byte) {
    return byte < 0xE0 ? (byte & 0x1F) << 6 : byte < 0xF0 ? (byte & 0x0F) << 12 : (byte & 0x07) << 18;
}
uint32_t lead_last(uint32_t byte) {
    return byte < 0xE0 ? lead_first(byte) | 0x3F : byte < 0xF0 ? lead_first(byte) | 0xFFF : lead_first(byte) | 0x3FFFF;
}

}  // namespace

ByteSet first_bytes(const CharSet& set) {
    ByteSet bytes{};
    for (uint32_t byte = 0; byte < 0x80; ++byte) bytes[byte] = set.contains(byte);
    for (uint32_t byte = 0xC2; byte < 0xF5; ++byte) {
        const uint32_t begin = byte == 0xE0 ? 0x800 : byte == 0xF0 ? 0x10000 : lead_first(byte);
        bytes[byte] = set.meets(begin, std::min(lead_last(byte), 0x10FFFFu));
    }
    return bytes;
}

MatchSet::MatchSet(const CharSet& set) {
    const ByteSet bytes = first_bytes(set);
    for (uint32_t byte = 0; byte < 256; ++byte) {
        first[byte] = bytes[byte] ? all : none;
        if (!bytes[byte] || byte < 0x80) continue;
        const uint32_t begin = byte == 0xE0 ? 0x800 : byte == 0xF0 ? 0x10000 : lead_first(byte);
        if (!set.covers(begin, std::min(lead_last(byte), 0x10FFFFu))) first[byte] = some;
    }
    constexpr uint32_t kPages = 0x1100;
    beyond = set.contains(0x10FFFF);
    uint32_t pages = kPages;
    if (!set.empty() && beyond)
        pages = (set.ranges().back().first + 255) / 256;
    else
        pages = set.empty() ? 0 : set.ranges().back().last / 256 + 1;
    std::map<std::array<uint64_t, 4>, uint16_t> numbers;
    index.resize(pages);
    auto range = set.ranges().begin();
    for (uint32_t page = 0; page < pages; ++page) {
        std::array<uint64_t, 4> block{};
        const uint32_t begin = page * 256;
        while (range != set.ranges().end() && range->last < begin) ++range;
        for (auto r = range; r != set.ranges().end() && r->first < begin + 256; ++r) {
            for (uint32_t c = std::max(r->first, begin); c <= std::min(r->last, begin + 255); ++c)
                block[c >> 6 & 3] |= uint64_t(1) << (c & 63);
        }
        const auto [it, fresh] = numbers.emplace(block, uint16_t(blocks.size()));
        if (fresh) blocks.push_back(block);
        index[page] = it->second;
    }
}

}  // namespace crayon::regex
