// Blocks of pretokens go through passes without branches that depend on the text, so that the cache misses of one block
// overlap: cut; make keys and ask for lines of the thread's cache; look up; write ids. What the cache did not have is
// made in between: from the cartridge's word table, whose lines are asked for first, or by merging.
// Longest match needs none of this: it is a search for the text's own bytes.
#include "engine/segment_encoder.h"

#include <algorithm>

#include "engine/merge_parts.h"
#include "support/prefetch.h"

namespace crayon {
namespace {

// A pretoken that no cache has and that the word table has no room for, or no entry. `out` has room for an id per byte
// and kWordIds more.
size_t encode_long(const SegmentTables& t, Bytes word, Scratch& s, uint32_t* out) {
    if (word.size > kWordKeyBytes && word.size <= t.cartridge.program().max_token_bytes) {
        const int32_t id = t.cartridge.trie.find(word);
        if (id >= 0 && (t.cartridge.token_flags[size_t(id)] & kWhole)) {
            *out = uint32_t(id);
            return 1;
        }
    }
    return merge_parts(t, word, s, out);
}

// The entry of a pretoken of more than kWordKeyBytes and up to PieceRing::kLongest bytes.
WordEntry make_long(const SegmentTables& t, Bytes word, uint64_t hash, WordKey key, Scratch& s) {
    uint32_t ids[PieceRing::kLongest + kWordIds];
    uint64_t at = s.ring.find(word, hash);
    size_t count;
    if (at != PieceRing::kNone) {
        count = s.ring.count(at);
        if (count <= kWordIds) s.ring.copy(at, ids);
    } else {
        count = encode_long(t, word, s, ids);
        at = s.ring.insert(word, hash, ids, count);
    }
    if (count <= kWordIds) return make_word_entry(key, ids, count);
    return at != PieceRing::kNone ? entry_of_kind(key, kInRing, at) : entry_of_kind(key, kUncached);
}

// The entry of a pretoken of up to kWordKeyBytes that a task made more ids of than an entry has room for.
WordEntry keep_in_ring(const MergeTask& task, Bytes word, uint64_t hash, Scratch& s) {
    uint64_t at = s.ring.find(word, hash);
    if (at == PieceRing::kNone) at = s.ring.insert(word, hash, task.out, task.count);
    return at != PieceRing::kNone ? entry_of_kind(task.word, kInRing, at) : entry_of_kind(task.word, kUncached);
}

// Makes entries for what the cache did not have: for short pretokens from the cache's other places or from the word
// table, and what is not there by merging, all together; then for long ones.
template <typename WordAt>
void resolve_misses(const SegmentTables& t, size_t n_missed, WordAt word_at, Scratch& s) {
    auto& b = s.block;
    auto& m = s.missed;
    const WordEntry* const words = t.cartridge.word_table.data;
    const uint64_t bucket_mask = t.cartridge.word_table.size / 2 - 1;
    for (size_t j = 0; j < n_missed; ++j) {
        const WordKey key = b.keys[b.missed[j]];
        m.hashes[j] = word_hash(key.lo, key.hi);
        prefetch(s.cache.neighbour_bucket(b.buckets[b.missed[j]]));
        prefetch(words + 2 * (m.hashes[j] & bucket_mask));
    }
    size_t n_tasks = 0, n_waiting = 0, n_long = 0;
    for (size_t j = 0; j < n_missed; ++j) {
        const size_t i = b.missed[j];
        const WordKey key = b.keys[i];
        const size_t size = word_at(i).size;
        WordEntry& made = b.made[j];
        b.entries[i] = &made;
        if (size - 1 >= kWordKeyBytes) {
            made = {};
            if (size > 0) m.longs[n_long++] = uint32_t(j);
            continue;
        }
        uint16_t& recent = b.recent[m.hashes[j] % b.kRecent];
        if (word_matches(b.made[recent], key)) {
            made = b.made[recent];
        } else if (const WordEntry* displaced = s.cache.find_displaced(b.buckets[i], key)) {
            made = *displaced;
        } else if (const WordEntry* known = find_word(words, bucket_mask, m.hashes[j], key)) {
            made = *known;
        } else {
            made = entry_of_kind(key, kTask, n_tasks);
            s.tasks[n_tasks] = {key, s.merged[n_tasks], 0};
            ++n_tasks;
        }
        m.waiting[n_waiting] = uint32_t(j);
        n_waiting += word_ids(made) == kTask;
        recent = uint16_t(j);
    }
    // From here on m.hashes has those of the ring.
    const auto ask_ring = [&](size_t j) {
        m.hashes[j] = PieceRing::hash(word_at(b.missed[j]));
        s.ring.prefetch_slots(m.hashes[j]);
    };
    t.merges.batch(t.merges, s.tasks, n_tasks);
    // First without the ring: if there is no memory for it, nothing is left waiting.
    size_t n_kept = 0;
    for (size_t k = 0; k < n_waiting; ++k) {
        const size_t j = m.waiting[k];
        WordEntry& made = b.made[j];
        const MergeTask& task = s.tasks[made.ids[0]];
        if (task.count <= kWordIds) {
            made = make_word_entry(task.word, task.out, task.count);
            continue;
        }
        made = entry_of_kind(task.word, kUncached);
        ask_ring(j);
        m.task[n_kept] = &task;
        m.waiting[n_kept++] = uint32_t(j);
    }
    for (size_t k = 0; k < n_long; ++k)
        if (word_at(b.missed[m.longs[k]]).size <= PieceRing::kLongest) ask_ring(m.longs[k]);
    for (size_t k = 0; k < n_kept; ++k) {
        const size_t j = m.waiting[k];
        b.made[j] = keep_in_ring(*m.task[k], word_at(b.missed[j]), m.hashes[j], s);
    }
    for (size_t k = 0; k < n_long; ++k) {
        const size_t j = m.longs[k], i = b.missed[j];
        const Bytes word = word_at(i);
        b.made[j] = word.size <= PieceRing::kLongest ? make_long(t, word, m.hashes[j], b.keys[i], s)
                                                     : entry_of_kind({0, 0}, kUncached);
    }
}

// Writes what an entry does not hold itself.
size_t write_kept(const SegmentTables& t, Bytes word, const WordEntry& entry, Scratch& s, int32_t* out) {
    uint32_t* const ids = reinterpret_cast<uint32_t*>(out);
    const uint64_t at = place_in_ring(entry);
    if (word_ids(entry) == kInRing && s.ring.is_live(at)) return s.ring.copy(at, ids);
    return encode_long(t, word, s, ids);
}

// The tokens of one pretoken. Every byte has one.
size_t cut_pretoken(const SegmentTables& t, Bytes word, IdBuffer* out) {
    const size_t before = out->size();
    size_t at = t.match->cut(word, out);
    while (at < word.size) {
        out->push(int32_t(t.cartridge.byte_ids[word[at++]]));
        at += t.match->cut(word.slice(at, word.size), out);
    }
    return out->size() - before;
}

// One block of up to Scratch::kBlock pretokens, in order.
template <typename Words>
inline void encode_block(const SegmentTables& t, Bytes text, size_t n, Words words, Scratch& s, IdBuffer* out,
                         std::vector<PretokenSpan>* spans) {
    if (t.match != nullptr) {
        for (size_t i = 0; i < n; ++i) {
            const size_t count = cut_pretoken(t, text.slice(words.start(i), words.end(i)), out);
            if (spans != nullptr) spans->push_back({words.start(i), count});
        }
        return;
    }
    auto& b = s.block;
    const auto word_at = [&](size_t i) { return text.slice(words.start(i), words.end(i)); };
    b.make_keys(text, n, words, s.cache, t.kernels);
    const size_t n_missed = b.look_up(n, s.cache, t.kernels);
    if (n_missed > 0) resolve_misses(t, n_missed, word_at, s);
    // No pretoken becomes more ids than it has bytes; up to three are written past what is needed.
    out->reserve_more(words.end(n - 1) - words.start(0) + kWordIds);
    int32_t* to = out->end();
    for (size_t i = 0; i < n; ++i) {
        const WordEntry& entry = *b.entries[i];
        // All four ids, of which the first `count` matter: cheaper than a branch on the count.
        std::memcpy(to, entry.ids, sizeof entry.ids);
        size_t count = word_ids(entry);
        if (count > kWordIds) count = write_kept(t, word_at(i), entry, s, to);
        to += count;
        if (spans != nullptr) spans->push_back({words.start(i), count});
    }
    out->advance(size_t(to - out->end()));
    b.keep_made(n_missed, &s.cache);
}

}  // namespace

void encode_segment(const SegmentTables& t, Bytes text, Scratch& s, IdBuffer* out, std::vector<PretokenSpan>* spans) {
    if (spans != nullptr) spans->clear();
    for (size_t pos = 0; pos < text.size;) {
        // One end in front, that of the pretoken before: each start is the end before it.
        s.ends[0] = pos;
        const size_t n = t.scan(text.data, text.size, pos, s.ends + 1, Scratch::kBlock);
        encode_block(t, text, n, TouchingWords{s.ends}, s, out, spans);
        pos = s.ends[n];
    }
}

void encode_whole(const SegmentTables& t, Bytes data, IdBuffer* out) {
    cut_pretoken(t, data, out);
}

void encode_pieces(const SegmentTables& t, Bytes text, const std::vector<Piece>& pieces, Scratch& s, IdBuffer* out,
                   std::vector<PretokenSpan>* spans) {
    if (spans != nullptr) spans->clear();
    for (size_t done = 0; done < pieces.size();) {
        const size_t n = std::min(pieces.size() - done, Scratch::kBlock);
        encode_block(t, text, n, PieceWords{pieces.data() + done}, s, out, spans);
        done += n;
    }
}

}  // namespace crayon
