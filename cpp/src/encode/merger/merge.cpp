#include "encode/merger/merge.h"

#include <algorithm>
#include <functional>

#include "crayon/support/error.h"
#include "encode/merger/bpe_dropout.h"
#include "encode/merger/merge_few.h"

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

// trim() frees working memory above this many elements.
constexpr size_t kKeep = size_t(1) << 16;

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
// they share none, the overlap doubles, in the limit to all text merged so far. A window merges at least as many new
// symbols as it repeats, so all windows together merge a constant multiple of the text.
template <typename Input, typename SizeOf>
size_t Merger::merge_windows(const Input& in, SizeOf size_of, uint32_t* out, uint32_t* sizes) {
    const size_t size = in.size();
    if (size <= kWhole) return merge_whole(in, out, sizes);
    size_t end = kWindow, overlap = kOverlap;
    size_t n = merge_whole(in.slice(0, end), out, sizes);
    size_t m = 0, merged_start = 0, merged_stop = 0;  // the symbols of the m ids in window_
    while (end < size) {
        size_t left = n, start = end;  // out[left] begins at symbol `start`
        while (left > 0 && end - start < overlap) {
            --left;
            start -= size_of(out, sizes, left);
        }
        const size_t stop = std::min(size, std::max(start + kWindow, end + (end - start)));
        const Input window = in.slice(start, stop);
        if (!(window == in.slice(merged_start, merged_stop))) {  // windows repeat in long runs of a few letters
            if (window_.size() < window.size()) window_.resize(window.size());
            if (window_sizes_.size() < window.size()) window_sizes_.resize(window.size());
            m = merge_whole(window, window_.data(), window_sizes_.data());
            merged_start = start;
            merged_stop = stop;
        }
        size_t right = 0, left_at = start, right_at = start;
        const auto left_size = [&] { return size_of(out, sizes, left); };
        const auto right_size = [&] { return window_sizes_[right]; };
        if (left > 0) {
            while (left < n && right < m &&
                   (left_at != right_at || out[left] != window_[right] || left_size() != right_size())) {
                const bool step_left = left_at <= right_at, step_right = right_at <= left_at;
                if (step_left) left_at += left_size(), ++left;
                if (step_right) right_at += right_size(), ++right;
            }
            if (left == n || right == m) {
                overlap *= 2;
                continue;
            }
        }
        const size_t more = m - right;
        std::copy_n(window_.data() + right, more, out + left);
        if (sizes != nullptr) std::copy_n(window_sizes_.data() + right, more, sizes + left);
        n = left + more;
        end = stop;
        overlap = kOverlap;
    }
    return n;
}

size_t Merger::merge(const MergeTables& tables, Bytes bytes, uint32_t* out) {
    const auto size_of = [&](const uint32_t* ids, const uint32_t*, size_t i) -> size_t {
        return tables.token_offsets[ids[i] + 1] - tables.token_offsets[ids[i]];
    };
    return merge_windows(ByteSymbols{tables, bytes}, size_of, out, nullptr);
}

size_t Merger::merge(const MergeTables& tables, const uint32_t* symbols, size_t n, uint32_t* out, uint32_t* sizes) {
    const auto size_of = [](const uint32_t*, const uint32_t* all, size_t i) -> size_t { return all[i]; };
    return merge_windows(Symbols{tables, symbols, n}, size_of, out, sizes);
}

template <typename Input>
size_t Merger::merge_whole(const Input& in, uint32_t* out, uint32_t* sizes) {
    static_assert(kWhole == kFewSymbols && kWindow <= kWhole);
    const size_t n = in.size();
    last_ = kNoRank;
    if (n > kFewSymbols) return merge_heap(in, out, sizes);
    int32_t keys[kFewSymbols];
    std::fill_n(keys, kFewSymbols, kNoKey);
    for (size_t i = 0; i < n; ++i) out[i] = in.symbol(i);
    for (size_t i = 0; i + 1 < n; ++i) keys[i] = few_key(in.rank(i), i);
    return n <= kFewSymbols / 2 ? merge_slots<kFewSymbols / 2>(in.tables, out, keys, n, sizes, &last_)
                                : merge_slots<kFewSymbols>(in.tables, out, keys, n, sizes, &last_);
}

template <typename Input>
size_t Merger::merge_heap(const Input& in, uint32_t* out, uint32_t* sizes, Dropout* dropout) {
    if (in.size() >= kNoRank) throw Error(ErrorKind::argument, "a pretoken of 4 GiB or more cannot be merged");
    const uint32_t n = uint32_t(in.size());
    last_ = kNoRank;
    nodes_.resize(n + 1);  // one more, so that the last symbol has a successor
    for (uint32_t i = 0; i < n; ++i) nodes_[i] = {in.symbol(i), i + 1, i - 1, i + 1 < n ? in.rank(i) : kNoRank};
    run_heap(in.tables, dropout);
    size_t count = 0;
    for (uint32_t i = 0; i < n; i = nodes_[i].next) {
        if (sizes != nullptr) sizes[count] = nodes_[i].next - i;
        out[count++] = nodes_[i].symbol;
    }
    return count;
}

template size_t Merger::merge_whole(const ByteSymbols&, uint32_t*, uint32_t*);
template size_t Merger::merge_whole(const Symbols&, uint32_t*, uint32_t*);
template size_t Merger::merge_heap(const ByteSymbols&, uint32_t*, uint32_t*, Dropout*);
template size_t Merger::merge_heap(const Symbols&, uint32_t*, uint32_t*, Dropout*);

void Merger::push(uint64_t entry) {
    queue_.push_back(entry);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

uint64_t Merger::pop() {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const uint64_t least = queue_.back();
    queue_.pop_back();
    return least;
}

// A binary heap of (rank, position). Entries whose pair has changed are skipped.
void Merger::run_heap(const MergeTables& tables, Dropout* dropout) {
    const uint32_t n = uint32_t(nodes_.size() - 1);
    const auto entry = [&](uint32_t position) { return uint64_t(nodes_[position].rank) << 32 | position; };
    queue_.clear();
    skipped_.clear();
    for (uint32_t i = 0; i < n; ++i)
        if (nodes_[i].rank != kNoRank) queue_.push_back(entry(i));
    std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
    const auto update = [&](uint32_t at) {
        Node& node = nodes_[at];
        node.rank = node.next < n ? tables.rank(node.symbol, nodes_[node.next].symbol) : kNoRank;
        if (node.rank != kNoRank) push(entry(at));
    };
    while (!queue_.empty()) {
        const uint64_t least = pop();
        if (dropout != nullptr) {
            if (dropout->skips()) {
                skipped_.push_back(least);
                continue;
            }
            for (const uint64_t skipped : skipped_) push(skipped);
            skipped_.clear();
        }
        const uint32_t at = uint32_t(least);
        Node& node = nodes_[at];
        if (node.rank != least >> 32) continue;
        last_ = node.rank;
        node.symbol = tables.products[last_];
        Node& gone = nodes_[node.next];
        gone.rank = kNoRank;
        node.next = gone.next;
        nodes_[node.next].previous = at;
        update(at);
        if (at > 0) update(node.previous);
    }
}

void Merger::trim() {
    shrink(nodes_);
    shrink(queue_);
    shrink(skipped_);
    shrink(window_);
    shrink(window_sizes_);
}

size_t Merger::bytes() const {
    return nodes_.capacity() * sizeof(Node) + (queue_.capacity() + skipped_.capacity()) * sizeof(uint64_t) +
           (window_.capacity() + window_sizes_.capacity()) * sizeof(uint32_t);
}

}  // namespace crayon
