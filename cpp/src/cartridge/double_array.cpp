#include "crayon/cartridge/double_array.h"

#include <algorithm>
#include <string>

#include "crayon/support/error.h"
#include "support/bits.h"

namespace crayon {

namespace {

// The trie before packing, level by level: the children of a node are consecutive, in the order of their bytes.
struct Node {
    int32_t value = -1;
    uint32_t first_child = 0;
    uint16_t children = 0;
    uint8_t label = 0;  // the byte that leads here
};

using Keys = std::vector<std::pair<std::string_view, int32_t>>;

constexpr size_t max_nodes = size_t(1) << 30;  // leaves room for slots that stay free
constexpr size_t long_search = 64 * 16;        // in slots

void check_keys(const Keys& keys) {
    const auto fail = [](size_t i, const char* what) {
        throw Error(ErrorKind::vocabulary, "trie key " + std::to_string(i) + " " + what);
    };
    for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i].first.empty()) fail(i, "is empty");
        if (keys[i].second < 0) fail(i, "has a negative value");
        if (i == 0) continue;
        const int order = keys[i - 1].first.compare(keys[i].first);  // as unsigned bytes
        if (order == 0) fail(i, "is a duplicate");
        if (order > 0) fail(i, "is out of order");
    }
}

std::vector<Node> make_nodes(const Keys& keys) {
    // The keys that pass through a node are a range of the sorted keys.
    struct Range {
        uint32_t begin, end;
    };
    if (keys.size() >= max_nodes) throw Error(ErrorKind::vocabulary, "too many trie keys");
    std::vector<Node> nodes(1);
    std::vector<Range> level{{0, uint32_t(keys.size())}}, next;
    size_t first = 0;  // the first node of this level
    for (size_t depth = 0; !level.empty(); ++depth) {
        next.clear();
        for (size_t i = 0; i < level.size(); ++i) {
            const size_t parent = first + i;
            auto [begin, end] = level[i];
            if (begin < end && keys[begin].first.size() == depth) nodes[parent].value = keys[begin++].second;
            nodes[parent].first_child = uint32_t(nodes.size());
            while (begin < end) {
                const uint8_t label = uint8_t(keys[begin].first[depth]);
                uint32_t stop = begin + 1;
                while (stop < end && uint8_t(keys[stop].first[depth]) == label) ++stop;
                nodes.emplace_back();
                nodes.back().label = label;
                ++nodes[parent].children;
                next.push_back({begin, stop});
                begin = stop;
            }
        }
        if (nodes.size() > max_nodes) throw Error(ErrorKind::vocabulary, "the trie has too many nodes");
        first += level.size();
        level.swap(next);
    }
    return nodes;
}

// Free slots, one bit each; tests 64 candidate bases at once. Grows on demand. Slot 0 belongs to the root.
class FreeSlots {
  public:
    explicit FreeSlots(size_t expected) : words_(expected / 64 + 16, ~uint64_t(0)) { words_[0] &= ~uint64_t(1); }

    void take(size_t slot) { words_[slot / 64] &= ~(uint64_t(1) << slot % 64); }

    // The lowest free slot >= `from`. `from` must be in the first `head` words.
    size_t next(size_t from) {
        size_t word = from / 64;
        ensure(word);
        if (const uint64_t bits = words_[word] >> from % 64 << from % 64) return word * 64 + lowest_set_bit(bits);
        // Words from `head` to `full_` have no free slot; slots are never freed.
        for (++word; word < head; ++word)
            if (words_[word]) return word * 64 + lowest_set_bit(words_[word]);
        for (ensure(full_); words_[full_] == 0; ensure(full_)) ++full_;
        return full_ * 64 + lowest_set_bit(words_[full_]);
    }

    // The lowest base >= `from` whose slots base + labels[i].label are all free.
    size_t fit(const Node* labels, size_t count, size_t from) {
        for (size_t base = from / 64 * 64;; base += 64) {
            ensure(base / 64 + 5);
            uint64_t fits = base < from ? ~uint64_t(0) << (from - base) : ~uint64_t(0);
            for (size_t i = 0; i < count && fits; ++i) fits &= window(base + labels[i].label);
            if (fits) return base + lowest_set_bit(fits);
        }
    }

  private:
    static constexpr size_t head = 5;  // words up to slot 1 + 255; beyond them, a single child fits any free slot

    void ensure(size_t word) {
        if (word >= words_.size()) words_.resize(word * 2, ~uint64_t(0));
    }

    uint64_t window(size_t slot) const {
        const size_t word = slot / 64, shift = slot % 64;
        return shift ? words_[word] >> shift | words_[word + 1] << (64 - shift) : words_[word];
    }

    std::vector<uint64_t> words_;
    size_t full_ = head;
};

// Parents by falling number of children. Parents with equal numbers are in node order. The root is first, since its
// base is fixed.
std::vector<uint32_t> placement_order(const std::vector<Node>& nodes) {
    std::vector<uint32_t> start(258, 0);  // start[256 - n]: where the parents of n children begin
    for (const Node& node : nodes) ++start[257 - node.children];
    for (size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    std::vector<uint32_t> parents(start[256]);
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].children > 0) parents[start[256 - nodes[i].children]++] = i;
    const auto root = std::find(parents.begin(), parents.end(), 0u);
    if (root != parents.end()) std::rotate(parents.begin(), root, root + 1);
    return parents;
}

// Gives every parent its base. A base depends only on the bytes of the children. The caller computes the children's
// slots, and `check`, afterwards.
std::vector<int32_t> place(const std::vector<Node>& nodes) {
    std::vector<int32_t> base_of(nodes.size(), 0);
    base_of[0] = 1;
    FreeSlots free_slots(nodes.size());
    // First-fit would rescan slots that are nearly all taken, and ever more of them. Therefore each number of children
    // has its own start of the search, which moves up by a part of every long search. The work is then linear, and
    // parents with fewer children take skipped slots.
    size_t start = 1;
    uint16_t count = 0;
    for (const uint32_t parent : placement_order(nodes)) {
        const Node* children = &nodes[nodes[parent].first_child];
        if (nodes[parent].children != count) {
            count = nodes[parent].children;
            start = 1;
        }
        size_t base = 1;
        if (parent == 0) {
            count = 0;
        } else if (count == 1) {
            base = free_slots.next(size_t(1) + children[0].label) - children[0].label;
        } else {
            base = free_slots.fit(children, count, start);
            if (base - start > long_search) start += (base - start) / 4;
        }
        if (base > size_t(INT32_MAX) - 256)
            throw Error(ErrorKind::vocabulary, "the trie is too large for 32-bit indices");
        base_of[parent] = int32_t(base);
        for (size_t i = 0; i < nodes[parent].children; ++i) free_slots.take(base + children[i].label);
    }
    return base_of;
}

}  // namespace

// Compares the first eight bytes of keys as numbers, because most keys differ there.
void sort_keys(Keys* keys) {
    struct Entry {
        uint64_t prefix;
        std::pair<std::string_view, int32_t> key;
    };
    std::vector<Entry> entries;
    entries.reserve(keys->size());
    for (const auto& key : *keys) {
        uint64_t prefix = 0;
        for (size_t i = 0; i < 8; ++i) prefix = prefix << 8 | (i < key.first.size() ? uint8_t(key.first[i]) : 0);
        entries.push_back({prefix, key});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.prefix != b.prefix ? a.prefix < b.prefix : a.key < b.key;
    });
    for (size_t i = 0; i < entries.size(); ++i) (*keys)[i] = entries[i].key;
}

DoubleArray build_double_array(const Keys& keys) {
    check_keys(keys);
    const std::vector<Node> nodes = make_nodes(keys);
    const std::vector<int32_t> base_of = place(nodes);

    // Parents precede their children in `nodes`, so slots are known when they are needed.
    std::vector<int32_t> slot_of(nodes.size(), 0);
    int32_t last = 0;
    for (size_t i = 0; i < nodes.size(); ++i)
        for (size_t c = nodes[i].first_child; c < nodes[i].first_child + nodes[i].children; ++c) {
            slot_of[c] = base_of[i] + nodes[c].label;
            last = std::max(last, slot_of[c]);
        }

    DoubleArray trie;
    trie.base.assign(size_t(last) + 1, 0);
    trie.check.assign(size_t(last) + 1, -1);
    trie.values.assign(size_t(last) + 1, -1);
    for (size_t i = 0; i < nodes.size(); ++i) {
        const size_t slot = size_t(slot_of[i]);
        trie.base[slot] = base_of[i];
        trie.values[slot] = nodes[i].value;
        for (size_t c = nodes[i].first_child; c < nodes[i].first_child + nodes[i].children; ++c)
            trie.check[size_t(slot_of[c])] = slot_of[i];
    }
    return trie;
}

void verify_double_array(const DoubleArrayView& trie, int64_t value_limit) {
    const auto fail = [](uint32_t node, const std::string& what) {
        throw Error(ErrorKind::cartridge, "double array: node " + std::to_string(node) + " " + what);
    };
    if (trie.size == 0) throw Error(ErrorKind::cartridge, "double array: the root is missing");
    if (trie.size > uint32_t(INT32_MAX))
        throw Error(ErrorKind::cartridge, "double array: too large for 32-bit indices");
    if (trie.base[0] != 1) fail(0, "(the root) has base " + std::to_string(trie.base[0]) + ", not 1");
    if (trie.check[0] != -1) fail(0, "(the root) has a parent, " + std::to_string(trie.check[0]));
    for (uint32_t i = 0; i < trie.size; ++i) {
        const int32_t parent = trie.check[i], value = trie.values[i];
        if (value < -1 || value >= value_limit) fail(i, "has value " + std::to_string(value) + ", out of range");
        if (parent == -1) continue;
        if (parent < 0 || uint32_t(parent) >= trie.size)
            fail(i, "has parent " + std::to_string(parent) + ", out of range");
        if (parent > 0 && trie.check[parent] == -1) fail(i, "has parent " + std::to_string(parent) + ", which is free");
        const int64_t label = int64_t(i) - trie.base[parent];
        if (label < 0 || label > 255) fail(i, "is out of reach of its parent " + std::to_string(parent));
    }

    // Every used node has a used parent, so a chain of parents ends at the root or is a cycle. Visits each node once: a
    // chain stops at a node that is known to reach the root.
    enum : uint8_t { unknown, on_this_chain, reaches_root };
    std::vector<uint8_t> state(trie.size, unknown);
    state[0] = reaches_root;
    for (uint32_t i = 1; i < trie.size; ++i) {
        if (trie.check[i] == -1) continue;
        uint32_t node = i;
        for (; state[node] == unknown; node = uint32_t(trie.check[node])) state[node] = on_this_chain;
        if (state[node] == on_this_chain) fail(node, "is its own ancestor");
        for (node = i; state[node] == on_this_chain; node = uint32_t(trie.check[node])) state[node] = reaches_root;
    }
}

}  // namespace crayon
