// A thread's memory of pieces, and the cuts between words, against what they save: making each piece, and looking at
// each pair of characters.
#include "models/piece_ids.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpe/char_pairs.h"
#include "bpe/spaced_pairs.h"
#include "check.h"
#include "crayon/support/cpu.h"
#include "support/bits.h"

using namespace crayon;

namespace {

// What a piece becomes: none, few or many ids.
void append_ids(Bytes piece, std::vector<uint32_t>* ids) {
    uint32_t hash = 2166136261u;
    for (const uint8_t byte : piece) hash = (hash ^ byte) * 16777619u;
    const size_t count = hash % 11 == 0 ? hash % 3000 : hash % 7;
    for (uint32_t i = 0; i < count; ++i) ids->push_back((hash + i) % (hash % 2 ? 0x7FFFFFu : 0x8000u));
}

bool is_merged_together(std::string_view piece) {
    for (const char c : piece)
        if (uint8_t(c) >= 0x80) return false;
    return piece.size() <= kWordKeyBytes;
}
// With tasks, pieces that they can merge have their bytes for ids.
void append_ids(Bytes piece, bool has_tasks, std::vector<uint32_t>* ids) {
    if (has_tasks && is_merged_together(piece.view()))
        ids->insert(ids->end(), piece.begin(), piece.end());
    else
        append_ids(piece, ids);
}

struct Make {
    bool has_tasks;
    size_t* calls;
    void operator()(Bytes piece, IdBuffer* out) const {
        ++*calls;
        if (piece.view().find('!') != std::string_view::npos) throw std::runtime_error("it cannot be made");
        std::vector<uint32_t> ids;
        append_ids(piece, has_tasks, &ids);
        out->append(reinterpret_cast<const int32_t*>(ids.data()), ids.size());
    }
};

void merge_bytes(const MergeTables&, MergeTask* tasks, size_t n) {
    for (MergeTask* task = tasks; task < tasks + n; ++task) {
        uint8_t bytes[16];
        std::memcpy(bytes, &task->word, sizeof bytes);
        task->count = bytes[15];
        for (size_t i = 0; i < task->count; ++i) task->out[i] = bytes[i];
    }
}
struct Text {
    std::string bytes;
    std::vector<Piece> pieces;
    void add(std::string_view piece) {
        pieces.push_back({uint32_t(bytes.size()), uint32_t(bytes.size() + piece.size())});
        bytes += piece;
    }
};

std::vector<int32_t> encoded(PieceIds* known, const Text& text, const MergeTables* ascii, size_t* calls) {
    IdBuffer out;
    known->encode(Bytes(text.bytes), text.pieces.data(), text.pieces.size(), &out, Make{ascii != nullptr, calls},
                  ascii);
    return {out.data(), out.data() + out.size()};
}

std::vector<int32_t> plain(const Text& text, bool together) {
    std::vector<uint32_t> ids;
    for (const Piece& piece : text.pieces) append_ids(Bytes(text.bytes).slice(piece.start, piece.end), together, &ids);
    return {ids.begin(), ids.end()};
}

// Pieces of 1 to `longest` bytes of which some come often, in texts of any number of them.
Text random_text(std::mt19937* rng, size_t longest, uint32_t different) {
    Text text;
    for (size_t n = (*rng)() % 700; n > 0; --n) {
        std::mt19937 piece((*rng)() % different);
        const bool is_ascii = piece() % 2;
        std::string bytes(1 + piece() % (piece() % 3 ? 18 : longest), 'a');
        for (char& byte : bytes) byte = char(is_ascii ? 'a' + piece() % 26 : 0xC3);
        text.add(bytes);
    }
    return text;
}

}  // namespace

TEST(known_pieces_have_the_ids_that_making_them_gives) {
    std::mt19937 rng(1);
    MergeTables tables;
    tables.batch = merge_bytes;
    for (const MergeTables* const ascii : {static_cast<const MergeTables*>(nullptr), &std::as_const(tables)}) {
        PieceIds known(available_cpu_levels().back());
        for (int i = 0; i < 300; ++i) {
            const Text text = random_text(&rng, i % 7 ? 40 : 600, i % 2 ? 100 : 100000);
            size_t calls = 0;
            CHECK(encoded(&known, text, ascii, &calls) == plain(text, ascii != nullptr));
            CHECK(calls <= text.pieces.size());
        }
        CHECK(known.bytes() > 0 && known.bytes() < size_t(16) << 20);
    }
}

TEST(a_piece_that_is_known_is_not_made_again) {
    PieceIds known(available_cpu_levels().back());
    Text text;
    for (const char* piece : {"a", " word", "a piece of many bytes", "\xC3\xA9t\xC3\xA9"}) text.add(piece);
    size_t calls = 0;
    const std::vector<int32_t> first = encoded(&known, text, nullptr, &calls);
    CHECK(calls == 4 && encoded(&known, text, nullptr, &calls) == first && calls == 4);
    // Twice in one block is made once.
    PieceIds other(CpuLevel::scalar);
    Text twice;
    for (const char* piece : {"b", "c", "b"}) twice.add(piece);
    calls = 0;
    encoded(&other, twice, nullptr, &calls);
    CHECK(calls == 2);
}

TEST(a_piece_that_cannot_be_made_leaves_the_others_right) {
    std::mt19937 rng(2);
    MergeTables tables;
    tables.batch = merge_bytes;
    PieceIds known(available_cpu_levels().back());
    for (int i = 0; i < 100; ++i) {
        Text text = random_text(&rng, 60, 3000);
        size_t calls = 0;
        const Text before = text;
        text.add("\xC3\xA9!");
        CHECK_THROWS(encoded(&known, text, &tables, &calls), std::runtime_error);
        CHECK(encoded(&known, before, &tables, &calls) == plain(before, true));
    }
}

TEST(cuts_are_where_no_pair_hangs_together) {
    std::mt19937 rng(3);
    std::vector<std::string> in_ascii(400);
    for (std::string& pair : in_ascii) pair = {char(rng() % 128), char(rng() % 128)};
    std::vector<std::string_view> strings = {"ab",
                                             "bc",
                                             "\xE2\x96\x81"
                                             "a",
                                             "1\xE2\x96\x81",
                                             "\xCE\xB5\xCF\x84",
                                             "a\xCE\xB5",
                                             "\xE4\xB8\xAD\xE6\x96\x87",
                                             "\xF0\x9F\x98\x80z"};
    strings.insert(strings.end(), in_ascii.begin(), in_ascii.end());
    const std::vector<uint64_t> section = build_char_pairs(strings, true);
    const CharPairs pairs(Bytes(reinterpret_cast<const uint8_t*>(section.data()), 8 * section.size()));
    const char* const characters[] = {"a",
                                      "b",
                                      "c",
                                      " ",
                                      "1",
                                      "\n",
                                      "\xCE\xB5",
                                      "\xCF\x84",
                                      "\xE4\xB8\xAD",
                                      "\xE6\x96\x87",
                                      "\xF0\x9F\x98\x80",
                                      "z",
                                      "\xE2\x96\x81"};
    for (int round = 0; round < 2000; ++round) {
        const bool is_ascii = rng() % 2;
        std::string bytes;
        std::vector<uint32_t> borders, points;  // between characters; and these
        for (size_t n = 2 + rng() % 200; n > 0; --n) {
            const char* const character = characters[rng() % (is_ascii ? 6 : 13)];
            if (!bytes.empty()) borders.push_back(uint32_t(bytes.size()));
            const size_t at = bytes.size();
            if (rng() % 3 == 0)
                bytes += char(rng() % 128);
            else
                bytes += character;
            points.push_back(char_at(Bytes(bytes), at).code_point);
        }
        std::vector<uint32_t> expected;
        const auto spelled = [](uint32_t c) { return c == ' ' ? 0x2581u : c; };
        for (size_t i = 0; i < borders.size(); ++i)
            if (!pairs.joins(spelled(points[i]), spelled(points[i + 1]))) expected.push_back(borders[i]);
        for (const CpuLevel level : available_cpu_levels()) {
            const SpacedPairs spaced(pairs, level);
            std::vector<uint32_t> found;
            uint32_t last = points[0];
            for (size_t at = 1; at < bytes.size(); at += 64) {
                const size_t size = std::min<size_t>(64, bytes.size() - at);
                for (uint64_t cuts = spaced.cuts(Bytes(bytes), at, size, &last); cuts != 0; cuts &= cuts - 1)
                    found.push_back(uint32_t(at + lowest_set_bit(cuts)));
            }
            CHECK(found == expected);
        }
    }
}
