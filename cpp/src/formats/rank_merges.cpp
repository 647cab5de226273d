#include "crayon/formats/rank_merges.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>

#include "crayon/support/error.h"

namespace crayon {

namespace {

// Polynomial hashes (mod 2^64) of a token's prefixes give the hash of any substring in constant time. Hits are compared
// byte by byte, so a collision costs time, never a wrong answer.
constexpr uint64_t multiplier = 0x9E3779B97F4A7C15u;

inline uint64_t extend(uint64_t hash, char c) {
    return hash * multiplier + uint8_t(c) + 1;
}

class TokenTable {
  public:
    static constexpr uint32_t none = UINT32_MAX;

    explicit TokenTable(const std::vector<std::string_view>& tokens) : tokens_(tokens) {
        size_t capacity = 16;
        while (capacity < tokens.size() * 2) {
            capacity *= 2;
            --shift_;
        }
        slots_.assign(capacity, {0, none});
        for (uint32_t id = 0; id < tokens.size(); ++id) {
            if (tokens[id].empty())
                throw Error(ErrorKind::vocabulary, "the token of rank " + std::to_string(id) + " is empty");
            uint64_t hash = 0;
            for (const char c : tokens[id]) hash = extend(hash, c);
            Slot& slot = probe(hash, tokens[id]);
            if (slot.id != none)
                throw Error(ErrorKind::vocabulary, "the tokens of ranks " + std::to_string(slot.id) + " and " +
                                                       std::to_string(id) + " are the same bytes");
            slot = {hash, id};
            filter_[filter_place(hash)] |= filter_bit(hash);
            if (tokens[id].size() == 2) pairs_[pair_of(tokens[id])] = id;
        }
    }

    uint32_t find(uint64_t hash, std::string_view bytes) {
        if (bytes.size() == 2) return pairs_[pair_of(bytes)];
        if ((filter_[filter_place(hash)] & filter_bit(hash)) == 0) return none;
        return probe(hash, bytes).id;
    }

  private:
    struct Slot {
        uint64_t hash;
        uint32_t id;
    };

    Slot& probe(uint64_t hash, std::string_view bytes) {
        uint64_t mixed = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
        for (size_t i = mixed >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[i];
            if (slot.id == none || (slot.hash == hash && tokens_[slot.id] == bytes)) return slot;
        }
    }

    static size_t pair_of(std::string_view two) { return size_t(uint8_t(two[0])) << 8 | uint8_t(two[1]); }
    static uint64_t mixed_again(uint64_t hash) { return (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u; }
    static size_t filter_place(uint64_t hash) { return mixed_again(hash) >> (64 - kFilterBits + 6); }
    static uint64_t filter_bit(uint64_t hash) { return uint64_t(1) << (mixed_again(hash) >> 16 & 63); }

    static constexpr int kFilterBits = 21;
    const std::vector<std::string_view>& tokens_;
    // Most substrings are not tokens. This filter rejects most of them, and stays in the processor's cache.
    std::vector<uint64_t> filter_ = std::vector<uint64_t>(size_t(1) << (kFilterBits - 6));
    std::vector<uint32_t> pairs_ = std::vector<uint32_t>(1 << 16, none);  // tokens of two bytes
    std::vector<Slot> slots_;
    int shift_ = 60;  // from a 64-bit hash to an index below the capacity
};

// Merges one token's bytes as tiktoken does, in O(n log n). Scans the parts of a short token for the lowest rank, which
// is faster than a heap. Keeps its buffers between tokens.
class LastMerge {
  public:
    LastMerge(TokenTable& table, const uint32_t* byte_ids) : table_(table), byte_ids_(byte_ids) {}

    // The two parts of `token` before its last merge. Returns false if merging ends with more than one part.
    bool find(std::string_view token, uint32_t& left, uint32_t& right) {
        token_ = token;
        const uint32_t size = uint32_t(token.size());
        prefix_hash_.resize(size + 1);
        power_.resize(std::max<size_t>(power_.size(), 1));
        power_[0] = 1;
        while (power_.size() <= size) power_.push_back(power_.back() * multiplier);
        prefix_hash_[0] = 0;
        for (uint32_t i = 0; i < size; ++i) prefix_hash_[i + 1] = extend(prefix_hash_[i], token[i]);
        if (size <= kShort) return find_in_short(left, right);
        parts_.resize(size);
        for (uint32_t i = 0; i < size; ++i) parts_[i] = {i + 1, i - 1, byte_ids_[uint8_t(token[i])]};
        heap_.clear();
        for (uint32_t i = 0; i + 1 < size; ++i) offer(i, i + 2);

        while (!heap_.empty()) {
            const auto [rank, begin, end] = heap_.front();
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
            // A pair still exists if a part begins at `begin` and the next one ends at `end`, because borders only
            // vanish.
            TokenPart& first = parts_[begin];
            if (first.end == gone || first.end >= end || parts_[first.end].end != end) continue;
            TokenPart& second = parts_[first.end];
            if (begin == 0 && end == size) {
                left = first.id;
                right = second.id;
                return true;
            }
            second.end = gone;
            first.end = end;
            first.id = rank;
            if (end < size) {
                parts_[end].begin_of_previous = begin;
                offer(begin, parts_[end].end);
            }
            if (begin > 0) offer(first.begin_of_previous, end);
        }
        return false;
    }

  private:
    static constexpr uint32_t gone = 0;  // no part ends at 0
    static constexpr uint32_t kShort = 24;

    struct TokenPart {
        uint32_t end, begin_of_previous, id;
    };

    bool find_in_short(uint32_t& left, uint32_t& right) const {
        uint32_t begins[kShort + 1], ids[kShort], ranks[kShort];  // a rank is that of a part with its successor
        uint32_t n = uint32_t(token_.size());
        for (uint32_t i = 0; i < n; ++i) {
            begins[i] = i;
            ids[i] = byte_ids_[uint8_t(token_[i])];
            if (i + 1 < n) ranks[i] = rank_of(i, i + 2);
        }
        begins[n] = n;
        for (; n > 2; --n) {
            const auto at = uint32_t(std::min_element(ranks, ranks + n - 1) - ranks);
            if (ranks[at] == TokenTable::none) return false;
            ids[at] = ranks[at];
            std::copy(ids + at + 2, ids + n, ids + at + 1);
            std::copy(begins + at + 2, begins + n + 1, begins + at + 1);
            if (at + 2 < n) {
                std::copy(ranks + at + 2, ranks + n - 1, ranks + at + 1);
                ranks[at] = rank_of(begins[at], begins[at + 2]);
            }
            if (at > 0) ranks[at - 1] = rank_of(begins[at - 1], begins[at + 1]);
        }
        left = ids[0];
        right = ids[1];
        return true;
    }

    uint32_t rank_of(uint32_t begin, uint32_t end) const {
        const uint64_t hash = prefix_hash_[end] - prefix_hash_[begin] * power_[end - begin];
        return table_.find(hash, token_.substr(begin, end - begin));
    }

    void offer(uint32_t begin, uint32_t end) {
        const uint32_t rank = rank_of(begin, end);
        if (rank == TokenTable::none) return;
        heap_.emplace_back(rank, begin, end);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    TokenTable& table_;
    const uint32_t* byte_ids_;
    std::string_view token_;
    std::vector<TokenPart> parts_;  // by the offset of their first byte
    std::vector<uint64_t> prefix_hash_, power_;
    std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> heap_;  // (rank, begin, end): lowest rank first, then
                                                                  // leftmost
};

}  // namespace

std::vector<RankMerge> merges_from_ranks(const std::vector<std::string_view>& tokens) {
    if (tokens.size() >= TokenTable::none) throw Error(ErrorKind::vocabulary, "too many tokens");
    TokenTable table(tokens);

    uint32_t byte_ids[256];
    std::fill(std::begin(byte_ids), std::end(byte_ids), TokenTable::none);
    for (uint32_t id = 0; id < tokens.size(); ++id) {
        if (tokens[id].size() >= UINT32_MAX)
            throw Error(ErrorKind::vocabulary, "the token of rank " + std::to_string(id) + " is too long");
        if (tokens[id].size() == 1) byte_ids[uint8_t(tokens[id][0])] = id;
    }
    for (int byte = 0; byte < 256; ++byte)
        if (byte_ids[byte] == TokenTable::none)
            throw Error(ErrorKind::vocabulary, "no token is the single byte " + std::to_string(byte));

    std::vector<RankMerge> merges;
    merges.reserve(tokens.size());
    LastMerge last_merge(table, byte_ids);
    for (uint32_t product = 0; product < tokens.size(); ++product) {
        RankMerge merge{0, 0, product};
        if (tokens[product].size() >= 2 && last_merge.find(tokens[product], merge.left, merge.right))
            merges.push_back(merge);
    }
    return merges;
}

}  // namespace crayon
