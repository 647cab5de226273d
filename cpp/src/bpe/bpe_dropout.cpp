#include "bpe/bpe_dropout.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>

#include "crayon/support/error.h"

namespace crayon {
namespace {

constexpr size_t kKeep = size_t(1) << 16;

}  // namespace

DropoutMerger::DropoutMerger()
    : state_(uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()) ^
             reinterpret_cast<uintptr_t>(this)) {
    try {
        std::random_device device;
        state_ ^= uint64_t(device()) << 32 | device();
    } catch (const std::exception&) {  // no random device: use the clock
    }
}

// SplitMix64 (G. L. Steele et al., "Fast Splittable Pseudorandom Number Generators", 2014).
float DropoutMerger::next_random() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return float((z ^ z >> 31) >> 40) * 0x1p-24f;
}

size_t DropoutMerger::merge(const MergeTables& tables, float dropout, uint32_t* symbols, uint32_t* sizes, size_t size) {
    const uint32_t n = uint32_t(size);
    const auto least_first = std::greater<uint64_t>();
    const auto push = [&](uint32_t position, uint32_t rank) {
        queue_.push_back(uint64_t(rank) << 32 | position);
        std::push_heap(queue_.begin(), queue_.end(), least_first);
    };
    next_.resize(n);
    previous_.resize(n);
    queue_.clear();
    skipped_.clear();
    for (uint32_t i = 0; i < n; ++i) {
        next_[i] = i + 1 < n ? i + 1 : kNone;
        previous_[i] = i > 0 ? i - 1 : kNone;
        const uint32_t rank = i + 1 < n ? tables.rank(symbols[i], symbols[i + 1]) : kNoRank;
        if (rank != kNoRank) queue_.push_back(uint64_t(rank) << 32 | i);
    }
    std::make_heap(queue_.begin(), queue_.end(), least_first);
    while (!queue_.empty()) {
        std::pop_heap(queue_.begin(), queue_.end(), least_first);
        const uint64_t top = queue_.back();
        queue_.pop_back();
        if (next_random() < dropout) {
            skipped_.push_back(top);
            continue;
        }
        for (const uint64_t entry : skipped_) push(uint32_t(entry), uint32_t(entry >> 32));
        skipped_.clear();
        const uint32_t at = uint32_t(top), product = tables.products[top >> 32];
        const uint32_t gone = sizes[at] == 0 ? kNone : next_[at];
        if (gone == kNone) continue;
        const uint32_t rank = tables.rank(symbols[at], symbols[gone]);
        if (rank == kNoRank || tables.products[rank] != product) continue;
        symbols[at] = product;
        sizes[at] += sizes[gone];
        sizes[gone] = 0;
        const uint32_t after = next_[at] = next_[gone], before = previous_[at];
        if (after != kNone) previous_[after] = at;
        const uint32_t rank_before = before != kNone ? tables.rank(symbols[before], product) : kNoRank;
        const uint32_t rank_after = after != kNone ? tables.rank(product, symbols[after]) : kNoRank;
        if (rank_before != kNoRank) push(before, rank_before);
        if (rank_after != kNoRank) push(at, rank_after);
    }
    size_t left = 0;
    for (uint32_t i = 0; i < n; ++i) {
        if (sizes[i] == 0) continue;
        symbols[left] = symbols[i];
        sizes[left++] = sizes[i];
    }
    return left;
}

void DropoutMerger::trim() {
    for (auto* v : {&next_, &previous_})
        if (v->capacity() > kKeep) std::vector<uint32_t>().swap(*v);
    for (auto* v : {&queue_, &skipped_})
        if (v->capacity() > kKeep) std::vector<uint64_t>().swap(*v);
}

}  // namespace crayon
