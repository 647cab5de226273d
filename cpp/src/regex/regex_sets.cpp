// Converts sets of characters to MatchSet and ByteSet, which the machine tests.
#include <algorithm>
#include <map>

#include "regex/regex_program.h"

namespace crayon::regex {

namespace {

uint32_t lead_first(uint32_t byte) {
    return byte < 0xE0 ? (byte & 0x1F) << 6 : byte < 0xF0 ? (byte & 0x0F) << 12 : (byte & 0x07) << 18;
}
uint32_t lead_last(uint32_t byte) {
    return byte < 0xE0 ? lead_first(byte) | 0x3F : byte < 0xF0 ? lead_first(byte) | 0xFFF : lead_first(byte) | 0x3FFFF;
}

uint32_t lead_byte(uint32_t c) {
    return c < 0x800 ? 0xC0 | c >> 6 : c < 0x10000 ? 0xE0 | c >> 12 : 0xF0 | c >> 18;
}

using Block = std::array<uint64_t, 4>;

// Adds the characters from `first` to `last` of one block.
void add_to_block(uint32_t first, uint32_t last, Block* block) {
    for (uint32_t word = first / 64; word <= last / 64; ++word) {
        const uint32_t low = word == first / 64 ? first % 64 : 0, high = word == last / 64 ? last % 64 : 63;
        (*block)[word] |= ~uint64_t(0) >> (63 - high) & ~uint64_t(0) << low;
    }
}

}  // namespace

ByteSet first_bytes(const CharSet& set) {
    ByteSet bytes{};
    for (const CharSet::Range& r : set.ranges()) {
        for (uint32_t c = r.first; c <= std::min(r.last, 0x7Fu); ++c) bytes[c] = true;
        if (r.last < 0x80) continue;
        for (uint32_t byte = lead_byte(std::max(r.first, 0x80u)); byte <= lead_byte(r.last); ++byte) bytes[byte] = true;
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
    std::map<Block, uint16_t> numbers;
    index.resize(pages);
    auto range = set.ranges().begin();
    Block last_block{};
    for (uint32_t page = 0; page < pages; ++page) {
        Block block{};
        const uint32_t begin = page * 256, end = begin + 255;
        while (range != set.ranges().end() && range->last < begin) ++range;
        for (auto r = range; r != set.ranges().end() && r->first <= end; ++r)
            add_to_block(std::max(r->first, begin) - begin, std::min(r->last, end) - begin, &block);
        if (page > 0 && block == last_block) {  // as for most pages
            index[page] = index[page - 1];
            continue;
        }
        last_block = block;
        const auto [it, fresh] = numbers.emplace(block, uint16_t(blocks.size()));
        if (fresh) blocks.push_back(block);
        index[page] = it->second;
    }
}

}  // namespace crayon::regex
