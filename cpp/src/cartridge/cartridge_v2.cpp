#include "crayon/cartridge/cartridge_v2.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "crayon/support/error.h"

namespace crayon {

namespace {

constexpr char magic[4] = {'C', 'R', 'A', 'Y'};
constexpr uint32_t version = 2;
constexpr size_t header_size = 12;

// A hostile trie of n nodes can spell n * n / 2 bytes of keys. A real vocabulary has a few million.
constexpr size_t max_listed_bytes = size_t(1) << 28;

[[noreturn]] void fail(const std::string& what) {
    throw Error(ErrorKind::cartridge, "version 2 cartridge: " + what);
}

uint32_t load(const uint8_t* p) {
    return uint32_t(p[0]) | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24;
}

void store(std::string& out, uint32_t v) {
    const char bytes[4] = {char(v), char(v >> 8), char(v >> 16), char(v >> 24)};
    out.append(bytes, 4);
}

DoubleArrayView checked_view(const DoubleArray& trie) {
    if (trie.base.size() > size_t(INT32_MAX)) fail("more slots than 32-bit indices reach");
    if (trie.check.size() != trie.base.size() || trie.values.size() != trie.base.size())
        fail("base, check and values differ in length");
    return {trie.base.data(), trie.check.data(), trie.values.data(), uint32_t(trie.base.size())};
}

constexpr int64_t any_value = int64_t(INT32_MAX) + 1;  // the format does not store the size of the vocabulary

}  // namespace

DoubleArray read_cartridge_v2(Bytes file) {
    if (file.size < header_size) fail("cut off inside the header, at " + std::to_string(file.size) + " bytes");
    if (std::memcmp(file.data, magic, 4) != 0) fail("it does not begin with \"CRAY\"");
    if (load(file.data + 4) != version) fail("its version is " + std::to_string(load(file.data + 4)));
    const uint32_t n = load(file.data + 8);
    const uint64_t expected = header_size + 12 * uint64_t(n);
    if (file.size != expected)
        fail("it has " + std::to_string(file.size) + " bytes, but " + std::to_string(n) + " slots take " +
             std::to_string(expected));

    DoubleArray trie;
    const uint8_t* p = file.data + header_size;
    for (std::vector<int32_t>* array : {&trie.base, &trie.check, &trie.values}) {
        array->resize(n);
        for (int32_t& element : *array) {
            element = int32_t(load(p));
            p += 4;
        }
    }
    verify_double_array(checked_view(trie), any_value);
    return trie;
}

std::string write_cartridge_v2(const DoubleArray& trie) {
    verify_double_array(checked_view(trie), any_value);
    std::string out;
    out.reserve(header_size + 12 * trie.base.size());
    out.append(magic, 4);
    store(out, version);
    store(out, uint32_t(trie.base.size()));
    for (const std::vector<int32_t>* array : {&trie.base, &trie.check, &trie.values})
        for (const int32_t element : *array) store(out, uint32_t(element));
    return out;
}

std::vector<std::pair<std::string, int32_t>> list_double_array(const DoubleArrayView& trie) {
    verify_double_array(trie, any_value);
    // The children of each node, in the order of their slots and thus of their bytes: those of p are children[first[p]]
    // to children[first[p + 1]].
    std::vector<uint32_t> first(size_t(trie.size) + 1, 0), children;
    for (uint32_t i = 1; i < trie.size; ++i)
        if (trie.check[i] >= 0) ++first[size_t(trie.check[i]) + 1];
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    children.resize(first.back());
    std::vector<uint32_t> next(first.begin(), first.end() - 1);
    for (uint32_t i = 1; i < trie.size; ++i)
        if (trie.check[i] >= 0) children[next[size_t(trie.check[i])]++] = i;

    // Depth first with an explicit stack, because a chain can be as long as the file. `next` is now the next child to
    // visit.
    std::copy(first.begin(), first.end() - 1, next.begin());
    std::vector<std::pair<std::string, int32_t>> keys;
    std::string key;
    size_t listed = 0;
    if (trie.values[0] >= 0) keys.emplace_back(key, trie.values[0]);
    for (uint32_t node = 0;;) {
        if (next[node] < first[size_t(node) + 1]) {
            const uint32_t child = children[next[node]++];
            key += char(int64_t(child) - trie.base[node]);
            node = child;
            if (trie.values[node] < 0) continue;
            listed += key.size();
            if (listed > max_listed_bytes) fail("its keys take more than 256 MiB");
            keys.emplace_back(key, trie.values[node]);
        } else if (node != 0) {
            key.pop_back();
            node = uint32_t(trie.check[node]);
        } else {
            return keys;
        }
    }
}

}  // namespace crayon
