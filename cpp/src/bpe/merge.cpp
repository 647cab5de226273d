#include "bpe/merge.h"

#include <algorithm>
#include <functional>

#include "bpe/merge_few.h"
#include "bpe/merge_scan.h"
#include "crayon/support/error.h"

namespace crayon {
namespace {

uint32_t log2_of(uint64_t power) {
    uint32_t bits = 0;
    while (power > 1) {
        power >>= 1;
        ++bits;
    }
    return bits;
}

// After this many preemptions a plain heap replaces the sweeps, because its time is never quadratic.
constexpr int kMaxPreemptions = 8;
// trim() frees working memory above this many elements.
constexpr size_t kKeep = size_t(1) << 18;

template <typename T>
void shrink(std::vector<T>& v) {
    if (v.capacity() > kKeep) std::vector<T>().swap(v);
}

}  // namespace

MergeTables MergeTables::of(const Cartridge& c) {
    MergeTables t;
    t.byte_ids = c.byte_ids.data;
    t.byte_pair_ranks = c.byte_pair_ranks.data;
    t.token_offsets = c.token_offsets.data;
    t.filter = c.pair_filter.data;
    t.filter_shift = 64 - log2_of(c.pair_filter.size * 64);
    t.products = c.merge_products.data;
    t.slots = c.pair_table.data;
    t.slot_mask = c.pair_table.size - 1;
    t.slot_shift = 64 - log2_of(c.pair_table.size);
    t.n_merges = uint32_t(c.merge_products.size);
    if (!c.reachable_slots.empty() && t.n_merges > 0) {  // a search may read the first product
        t.reachable_pilots = c.reachable_pilots.data;
        t.reachable_slots = c.reachable_slots.data;
        t.reachable_pilot_shift = 64 - log2_of(c.reachable_pilots.size);
        t.reachable_slot_shift = 32 - log2_of(c.reachable_slots.size);
    }
    return t;
}

void MergeTables::choose_batch(const Kernels& kernels) {
    batch = has_reachable() && kernels.merge_batch != nullptr ? kernels.merge_batch : merge_batch_scalar;
}

// Two facts make windows exact.
// (1) In an encoding, any two neighbours alone encode to themselves: no merge of the whole crossed a token's border, so
// the pair's own merging follows the same steps.
// (2) A sequence of tokens in which (1) holds for all neighbours is the encoding of its bytes. The first merge of the
// whole to cross a border would have crossed it in the pair, too.
//
// So where the encodings of two overlapping windows share a token, the left encoding up to it and the right encoding
// from it on together encode both windows. (The `bpe` crate of github.com/github/rust-gems uses the same property.) If
// they share none, the overlap grows, in the limit to all text merged so far.
size_t Merger::merge(const MergeTables& tables, Bytes bytes, uint32_t* out) {
    if (bytes.size <= kWindow) return merge_whole(tables, bytes, out);
    const auto size_of = [&](uint32_t id) -> size_t { return tables.token_offsets[id + 1] - tables.token_offsets[id]; };
    size_t end = kWindow, overlap = kOverlap;
    size_t n = merge_whole(tables, bytes.slice(0, end), out);
    Bytes merged;  // the bytes of the m ids in window_
    size_t m = 0;
    while (end < bytes.size) {
        size_t left = n, start = end;  // out[left] begins at byte `start`
        while (left > 0 && end - start < overlap) start -= size_of(out[--left]);
        const size_t stop = std::min(bytes.size, end + std::max(kWindow, 2 * overlap) - overlap);
        const Bytes window = bytes.slice(start, stop);
        if (window.view() != merged.view()) {  // windows repeat in long runs of a few letters
            window_.resize(window.size);
            m = merge_whole(tables, window, window_.data());
            merged = window;
        }
        size_t right = 0, left_at = start, right_at = start;
        const auto common = [&] { return left_at == right_at && out[left] == window_[right]; };
        if (left > 0) {
            while (left < n && right < m && !common()) {
                const bool step_left = left_at <= right_at, step_right = right_at <= left_at;
                if (step_left) left_at += size_of(out[left++]);
                if (step_right) right_at += size_of(window_[right++]);
            }
            if (left == n || right == m) {
                overlap *= 2;
                continue;
            }
        }
        std::copy(window_.begin() + ptrdiff_t(right), window_.begin() + ptrdiff_t(m), out + left);
        n = left + m - right;
        end = stop;
        overlap = kOverlap;
    }
    return n;
}

size_t Merger::merge_whole(const MergeTables& tables, Bytes bytes, uint32_t* out) {
    if (bytes.size <= kLive && tables.has_reachable()) return merge_live(tables, bytes, out);
    return bytes.size <= kShort ? merge_short(tables, bytes, out) : merge_sweeps(tables, bytes, out);
}

size_t Merger::merge_live(const MergeTables& tables, Bytes bytes, uint32_t* out) {
    static_assert(kLive == kFewSymbols);
    int32_t keys[kFewSymbols];
    const size_t n = bytes.size;
    for (size_t i = 0; i < n; ++i) out[i] = tables.byte_ids[bytes[i]];
    for (size_t i = 0; i < kFewSymbols; ++i) keys[i] = kNoKey;
    for (size_t i = 0; i + 1 < n; ++i) keys[i] = few_key(tables.byte_pair_ranks[bytes[i] << 8 | bytes[i + 1]], i);
    const auto rank_of = [&](uint32_t left, uint32_t right) { return tables.reachable_rank(left, right); };
    return merge_few(tables.products, rank_of, out, keys, n);
}

size_t Merger::merge_short(const MergeTables& tables, Bytes bytes, uint32_t* out) {
    uint32_t ranks[kShort];
    const size_t n = bytes.size;
    for (size_t i = 0; i < n; ++i) out[i] = tables.byte_ids[bytes[i]];
    for (size_t i = 0; i + 1 < n; ++i) ranks[i] = tables.byte_pair_ranks[bytes[i] << 8 | bytes[i + 1]];
    return merge_scan(tables, out, ranks, n, 1);
}

void Merger::start(const MergeTables& tables, Bytes bytes) {
    if (bytes.size >= kNone) throw Error(ErrorKind::argument, "a pretoken of 4 GiB or more cannot be merged");
    const uint32_t n = uint32_t(bytes.size);
    symbol_.resize(n);
    next_.resize(n);
    previous_.resize(n);
    rank_.resize(n);
    for (uint32_t i = 0; i < n; ++i) {
        symbol_[i] = tables.byte_ids[bytes[i]];
        next_[i] = i + 1 < n ? i + 1 : kNone;
        previous_[i] = i > 0 ? i - 1 : kNone;
        rank_[i] = i + 1 < n ? tables.byte_pair_ranks[bytes[i] << 8 | bytes[i + 1]] : kNoRank;
    }
}

size_t Merger::finish(uint32_t* out) const {
    size_t n = 0;
    for (uint32_t i = 0; i != kNone; i = next_[i]) out[n++] = symbol_[i];
    return n;
}

// Merges position `at` with its successor and ranks the two new pairs. A merged position keeps rank kNoRank, so entries
// that still refer to it are recognized as stale.
void Merger::apply(const MergeTables& tables, uint32_t at) {
    const uint32_t gone = next_[at], after = next_[gone], before = previous_[at];
    symbol_[at] = tables.products[rank_[at]];
    rank_[gone] = kNoRank;
    next_[at] = after;
    if (after != kNone) previous_[after] = at;
    rank_[at] = after != kNone ? tables.rank(symbol_[at], symbol_[after]) : kNoRank;
    if (before != kNone) rank_[before] = tables.rank(symbol_[before], symbol_[at]);
}

// All pairs of one rank are merged in one sweep from left to right. This equals the order of a queue by (rank,
// position), unless a merge of the sweep makes a pair of lower rank. Then the rest of the sweep waits again.
size_t Merger::merge_sweeps(const MergeTables& tables, Bytes bytes, uint32_t* out) {
    start(tables, bytes);
    try {
        if (!sweep(tables)) heap(tables);
    } catch (...) {  // out of memory: waiting positions must not reach the next pretoken
        waiting_.clear();
        ranks_ = RankSet();
        throw;
    }
    return finish(out);
}

bool Merger::sweep(const MergeTables& tables) {
    if (waiting_.size() < tables.n_merges) waiting_.resize(tables.n_merges, kNone);
    ranks_.resize(tables.n_merges);
    nodes_.clear();
    uint32_t least_new = kNone;  // the least rank that began to wait since the last check
    const auto wait = [&](uint32_t position) {
        const uint32_t rank = rank_[position];
        if (waiting_[rank] == kNone) ranks_.insert(rank);
        least_new = std::min(least_new, rank);
        nodes_.push_back({position, waiting_[rank]});
        waiting_[rank] = uint32_t(nodes_.size() - 1);
    };
    const uint32_t n = uint32_t(symbol_.size());
    for (uint32_t i = 0; i < n; ++i)
        if (rank_[i] != kNoRank) wait(i);

    int preemptions = 0;
    while (!ranks_.empty()) {
        const uint32_t rank = ranks_.pop_least();
        least_new = kNone;
        batch_.clear();
        for (uint32_t node = waiting_[rank]; node != kNone; node = nodes_[node].next)
            batch_.push_back(nodes_[node].position);
        waiting_[rank] = kNone;
        std::reverse(batch_.begin(), batch_.end());
        if (!std::is_sorted(batch_.begin(), batch_.end())) std::sort(batch_.begin(), batch_.end());
        for (size_t i = 0; i < batch_.size(); ++i) {
            const uint32_t at = batch_[i];
            if (rank_[at] != rank) continue;
            apply(tables, at);
            const uint32_t before = previous_[at];
            if (rank_[at] != kNoRank) wait(at);
            if (before != kNone && rank_[before] != kNoRank) wait(before);
            if (least_new <= rank) {
                if (++preemptions > kMaxPreemptions) {
                    while (!ranks_.empty()) waiting_[ranks_.pop_least()] = kNone;
                    return false;
                }
                for (++i; i < batch_.size(); ++i)
                    if (rank_[batch_[i]] == rank) wait(batch_[i]);
            }
        }
    }
    return true;
}

size_t Merger::merge_heap(const MergeTables& tables, Bytes bytes, uint32_t* out) {
    start(tables, bytes);
    heap(tables);
    return finish(out);
}

// A binary heap of (rank, position). Entries whose pair has changed are skipped.
void Merger::heap(const MergeTables& tables) {
    const auto least_first = std::greater<uint64_t>();
    const auto entry = [&](uint32_t position) { return uint64_t(rank_[position]) << 32 | position; };
    queue_.clear();
    for (uint32_t i = 0; i != kNone; i = next_[i])
        if (rank_[i] != kNoRank) queue_.push_back(entry(i));
    std::make_heap(queue_.begin(), queue_.end(), least_first);
    while (!queue_.empty()) {
        std::pop_heap(queue_.begin(), queue_.end(), least_first);
        const uint64_t least = queue_.back();
        queue_.pop_back();
        const uint32_t at = uint32_t(least);
        if (rank_[at] != uint32_t(least >> 32)) continue;
        apply(tables, at);
        for (const uint32_t changed : {at, previous_[at]}) {
            if (changed == kNone || rank_[changed] == kNoRank) continue;
            queue_.push_back(entry(changed));
            std::push_heap(queue_.begin(), queue_.end(), least_first);
        }
    }
}

void Merger::trim() {
    shrink(symbol_);
    shrink(next_);
    shrink(previous_);
    shrink(rank_);
    shrink(nodes_);
    shrink(batch_);
    shrink(queue_);
    shrink(window_);
    shrink(window_starts_);
}

size_t Merger::bytes() const {
    size_t words = 0;
    for (const auto* v : {&symbol_, &next_, &previous_, &rank_, &waiting_, &batch_, &window_, &window_starts_})
        words += v->capacity();
    return words * sizeof(uint32_t) + nodes_.capacity() * sizeof(Node) + queue_.capacity() * sizeof(uint64_t);
}

}  // namespace crayon
