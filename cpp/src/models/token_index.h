// Maps a vocabulary's strings to ids while the vocabulary is read. Open addressing: a search touches two cache lines
// and the string, and almost never another string's line.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "models/model_common.h"

namespace crayon {

// Strings are views; their owner must outlive the index. At most 2^31 strings.
class TokenIndex {
  public:
    using Entry = std::pair<std::string_view, uint32_t>;

    void reserve(size_t n) {
        entries_.reserve(n);
        if (2 * n > slots_.size()) grow(n);
    }
    // If strings are equal, the last one's id counts.
    void set(std::string_view text, uint32_t id) { *at(text, id) = id; }
    // If strings are equal, the first one's id counts.
    void add(std::string_view text, uint32_t id) { at(text, id); }

    // Returns the id of a string, or kNoId if it is unknown.
    uint32_t find(std::string_view text) const {
        if (slots_.empty()) return kNoId;
        const uint64_t slot = slots_[place_of(text, hash_of(text))];
        return slot == kEmpty ? kNoId : entries_[uint32_t(slot)].second;
    }
    // In the order in which the strings first occurred.
    const std::vector<Entry>& entries() const { return entries_; }
    void clear() {
        entries_.clear();
        slots_.clear();
    }

  private:
    static constexpr uint64_t kEmpty = ~uint64_t(0);

    static uint64_t hash_of(std::string_view text) { return key_hash(std::hash<std::string_view>()(text)); }

    // The slot of the string, or the empty slot where it would be.
    size_t place_of(std::string_view text, uint64_t hash) const {
        for (size_t i = size_t(hash >> shift_);; i = (i + 1) & (slots_.size() - 1)) {
            const uint64_t slot = slots_[i];
            if (slot == kEmpty || (slot >> 32 == (hash & 0xFFFFFFFFu) && entries_[uint32_t(slot)].first == text))
                return i;
        }
    }
    uint32_t* at(std::string_view text, uint32_t id) {
        if (2 * (entries_.size() + 1) > slots_.size()) grow(2 * entries_.size() + 8);
        const uint64_t hash = hash_of(text);
        uint64_t& slot = slots_[place_of(text, hash)];
        if (slot == kEmpty) {
            slot = hash << 32 | entries_.size();
            entries_.emplace_back(text, id);
        }
        return &entries_[uint32_t(slot)].second;
    }
    // Makes room for n strings, at most half full.
    void grow(size_t n) {
        shift_ = 63;
        while (size_t(1) << (64 - shift_) < 2 * n) --shift_;
        slots_.assign(size_t(1) << (64 - shift_), kEmpty);
        for (size_t i = 0; i < entries_.size(); ++i) {
            const uint64_t hash = hash_of(entries_[i].first);
            slots_[place_of(entries_[i].first, hash)] = hash << 32 | i;
        }
    }

    std::vector<Entry> entries_;
    std::vector<uint64_t> slots_;  // the lower half of the hash above an index of entries_
    uint32_t shift_ = 64;
};

}  // namespace crayon
