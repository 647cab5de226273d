// Blocks of pretokens go through passes without branches that depend on the text, so that the cache misses of one block
// overlap: cut; make keys and ask for lines of the thread's cache; look up; write ids. What the cache did not have is
// made in between: from the cartridge's word table, whose lines are asked for first, or by merging.
// Longest match needs none of this: it is a search for the text's own bytes.
#include "engine/segment_encoder.h"

#include <algorithm>

#include "engine/merge_parts.h"
#include "support/prefetch.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace crayon {
namespace {

// In place of an entry's number of ids.
constexpr uint32_t kInRing = 15;   // the first two words say where in the ring
constexpr uint32_t kNotKept = 14;  // to be made when it is written
constexpr uint32_t kTask = 13;     // the first word says which task makes it; in make_missed alone

// By the size of a pretoken (16: any longer one): a mask of its bytes among 16, and the last byte of its key. Empty and
// oversized pretokens get a key that matches no entry: it has no size, but is not zero as in an empty entry.
struct alignas(32) KeyShape {
    uint64_t lo, hi, size;
};
constexpr KeyShape key_shape(uint64_t size) {
    return {size == 0   ? 0
            : size >= 8 ? ~uint64_t(0)
                        : (uint64_t(1) << 8 * size) - 1,
            size <= 8 ? 0 : (uint64_t(1) << 8 * (size - 8)) - 1, size << 56};
}
constexpr KeyShape kNoShape = {0, 0, 1};
constexpr KeyShape kKeyShapes[kWordKeyBytes + 2] = {
    kNoShape,      key_shape(1),  key_shape(2),  key_shape(3),  key_shape(4),  key_shape(5),
    key_shape(6),  key_shape(7),  key_shape(8),  key_shape(9),  key_shape(10), key_shape(11),
    key_shape(12), key_shape(13), key_shape(14), key_shape(15), kNoShape};

// Which entries of a bucket have the key: 1 or 0, by arithmetic, because compilers make a branch of a comparison.
struct KeyMatch {
    uint64_t newer, older;
};
#if defined(__SSE2__)
inline KeyMatch match_key(const WordEntry* bucket, const WordKey& key) {
    const __m128i wanted = _mm_load_si128(reinterpret_cast<const __m128i*>(&key));
    const __m128i mask = _mm_set_epi32(int32_t(kWordKeyMask >> 32), -1, -1, -1);
    const auto matches = [&](const WordEntry& entry) {
        const __m128i found = _mm_and_si128(mask, _mm_load_si128(reinterpret_cast<const __m128i*>(entry.key)));
        const __m128i same = _mm_cmpeq_epi32(found, wanted);
        return uint64_t(uint32_t(_mm_movemask_ps(_mm_castsi128_ps(same))) + 1) >> 4;
    };
    return {matches(bucket[0]), matches(bucket[1])};
}
#else
inline KeyMatch match_key(const WordEntry* bucket, const WordKey& key) {
    const auto matches = [&](const WordEntry& entry) {
        const uint64_t differs = (entry.key[0] ^ key.lo) | (entry.key[1] ^ key.hi) << 4;
        return ((differs | (0 - differs)) >> 63) ^ 1;
    };
    return {matches(bucket[0]), matches(bucket[1])};
}
#endif

// Of 16 readable bytes that begin with the pretoken.
inline WordKey key_at(const uint8_t* p, size_t size) {
    const KeyShape& shape = kKeyShapes[size <= kWordKeyBytes ? size : 16];
    uint64_t half[2];
    std::memcpy(half, p, 16);
    return {half[0] & shape.lo, (half[1] & shape.hi) | shape.size};
}

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

inline WordEntry entry_of_kind(WordKey key, uint32_t kind, uint64_t value = 0) {
    return {{key.lo, key.hi | uint64_t(kind) << 60}, {uint32_t(value), uint32_t(value >> 32), 0, 0}};
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
    return at != PieceRing::kNone ? entry_of_kind(key, kInRing, at) : entry_of_kind(key, kNotKept);
}

// The entry of a pretoken of up to kWordKeyBytes that a task made more ids of than an entry has room for.
WordEntry keep_in_ring(const MergeTask& task, Bytes word, uint64_t hash, Scratch& s) {
    uint64_t at = s.ring.find(word, hash);
    if (at == PieceRing::kNone) at = s.ring.insert(word, hash, task.out, task.count);
    return at != PieceRing::kNone ? entry_of_kind(task.word, kInRing, at) : entry_of_kind(task.word, kNotKept);
}

// Makes entries for what the cache did not have: for short pretokens from the cache's other places or from the word
// table, and what is not there by merging, all together; then for long ones.
template <typename WordAt>
void make_missed(const SegmentTables& t, size_t n_missed, WordAt word_at, Scratch& s) {
    auto& b = s.block;
    const WordEntry* const words = t.cartridge.word_table.data;
    const uint64_t bucket_mask = t.cartridge.word_table.size / 2 - 1;
    for (size_t j = 0; j < n_missed; ++j) {
        const WordKey key = b.keys[b.missed[j]];
        b.hashes[j] = word_hash(key.lo, key.hi);
        prefetch(s.cache.beside(b.buckets[b.missed[j]]));
        prefetch(words + 2 * (b.hashes[j] & bucket_mask));
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
            if (size > 0) b.longs[n_long++] = uint32_t(j);
            continue;
        }
        uint16_t& recent = b.recent[b.hashes[j] % b.kRecent];
        if (word_matches(b.made[recent], key)) {
            made = b.made[recent];
        } else if (const WordEntry* displaced = s.cache.find_displaced(b.buckets[i], key)) {
            made = *displaced;
        } else if (const WordEntry* known = find_word(words, bucket_mask, b.hashes[j], key)) {
            made = *known;
        } else {
            made = entry_of_kind(key, kTask, n_tasks);
            s.tasks[n_tasks] = {key, s.merged[n_tasks], 0};
            ++n_tasks;
        }
        b.waiting[n_waiting] = uint32_t(j);
        n_waiting += word_ids(made) == kTask;
        recent = uint16_t(j);
    }
    // From here on b.hashes has those of the ring.
    const auto ask_ring = [&](size_t j) {
        b.hashes[j] = PieceRing::hash(word_at(b.missed[j]));
        s.ring.prefetch_slots(b.hashes[j]);
    };
    t.merges.batch(t.merges, s.tasks, n_tasks);
    // First without the ring: if there is no memory for it, nothing is left waiting.
    size_t n_kept = 0;
    for (size_t k = 0; k < n_waiting; ++k) {
        const size_t j = b.waiting[k];
        WordEntry& made = b.made[j];
        const MergeTask& task = s.tasks[made.ids[0]];
        if (task.count <= kWordIds) {
            made = make_word_entry(task.word, task.out, task.count);
            continue;
        }
        made = entry_of_kind(task.word, kNotKept);
        ask_ring(j);
        b.task[n_kept] = &task;
        b.waiting[n_kept++] = uint32_t(j);
    }
    for (size_t k = 0; k < n_long; ++k)
        if (word_at(b.missed[b.longs[k]]).size <= PieceRing::kLongest) ask_ring(b.longs[k]);
    for (size_t k = 0; k < n_kept; ++k) {
        const size_t j = b.waiting[k];
        b.made[j] = keep_in_ring(*b.task[k], word_at(b.missed[j]), b.hashes[j], s);
    }
    for (size_t k = 0; k < n_long; ++k) {
        const size_t j = b.longs[k], i = b.missed[j];
        const Bytes word = word_at(i);
        b.made[j] = word.size <= PieceRing::kLongest ? make_long(t, word, b.hashes[j], b.keys[i], s)
                                                     : entry_of_kind({0, 0}, kNotKept);
    }
}

// Writes what an entry does not hold itself.
size_t write_kept(const SegmentTables& t, Bytes word, const WordEntry& entry, Scratch& s, int32_t* out) {
    uint32_t* const ids = reinterpret_cast<uint32_t*>(out);
    const uint64_t at = entry.ids[0] | uint64_t(entry.ids[1]) << 32;
    if (word_ids(entry) == kInRing && s.ring.is_live(at)) {
        return s.ring.copy(at, ids);
    }
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

// Keys of the block's pretokens, and the lines of the cache that may have them on their way.
template <typename StartOf, typename EndOf>
inline void make_keys(Bytes text, size_t n, StartOf start_of, EndOf end_of, Scratch& s) {
    auto& b = s.block;
    const WordCache::Bucket* const buckets = s.cache.buckets();
    const uint32_t shift = s.cache.shift();
    const auto add = [&](size_t i, const uint8_t* p, size_t size) {
        const WordKey key = key_at(p, size);
        const uint64_t bucket = WordCache::hash(key) >> shift;
        b.keys[i] = key;
        b.buckets[i] = uint32_t(bucket);
        prefetch(buckets + bucket);
    };
    // Those that begin in the text's last 16 bytes are read from a copy that can be read beyond.
    size_t n_inside = n;
    while (n_inside > 0 && text.size - start_of(n_inside - 1) < 16) --n_inside;
    for (size_t i = 0; i < n_inside; ++i) add(i, text.data + start_of(i), end_of(i) - start_of(i));
    if (n_inside == n) return;
    uint8_t last[32] = {};
    const size_t begin = text.size < 16 ? 0 : text.size - 16;
    if (text.size > 0) std::memcpy(last, text.data + begin, text.size - begin);
    for (size_t i = n_inside; i < n; ++i) add(i, last + (start_of(i) - begin), end_of(i) - start_of(i));
}

// Finds them in the cache; returns how many were not there. It has no branches, since a processor cannot guess which
// entry of a bucket matches, or whether one does. So misses get an entry, too.
inline size_t look_up(size_t n, Scratch& s) {
    auto& b = s.block;
    const WordCache::Bucket* const buckets = s.cache.buckets();
    size_t n_missed = 0;
    for (size_t i = 0; i < n; ++i) {
        const WordEntry* const bucket = buckets[b.buckets[i]].entries;
        const KeyMatch match = match_key(bucket, b.keys[i]);
        b.entries[i] = bucket + (match.newer ^ 1);
        b.missed[n_missed] = uint32_t(i);
        n_missed += (match.newer | match.older) ^ 1;
    }
    return n_missed;
}

// One block of up to Scratch::kBlock pretokens: piece i has the bytes [start_of(i), end_of(i)), in order.
template <typename StartOf, typename EndOf>
inline void encode_block(const SegmentTables& t, Bytes text, size_t n, StartOf start_of, EndOf end_of, Scratch& s,
                         IdBuffer* out, std::vector<PretokenSpan>* spans) {
    if (t.match != nullptr) {
        for (size_t i = 0; i < n; ++i) {
            const size_t count = cut_pretoken(t, text.slice(start_of(i), end_of(i)), out);
            if (spans != nullptr) spans->push_back({start_of(i), count});
        }
        return;
    }
    auto& b = s.block;
    const auto word_at = [&](size_t i) { return text.slice(start_of(i), end_of(i)); };
    make_keys(text, n, start_of, end_of, s);
    const size_t n_missed = look_up(n, s);
    if (n_missed > 0) make_missed(t, n_missed, word_at, s);
    // No pretoken becomes more ids than it has bytes; up to three are written past what is needed.
    out->reserve_more(end_of(n - 1) - start_of(0) + kWordIds);
    int32_t* to = out->end();
    for (size_t i = 0; i < n; ++i) {
        const WordEntry& entry = *b.entries[i];
        // All four ids, of which the first `count` matter: cheaper than a branch on the count.
        std::memcpy(to, entry.ids, sizeof entry.ids);
        size_t count = word_ids(entry);
        if (count > kWordIds) count = write_kept(t, word_at(i), entry, s, to);
        to += count;
        if (spans != nullptr) spans->push_back({start_of(i), count});
    }
    out->advance(size_t(to - out->end()));
    // Only now: an insertion may take the place of an entry that the block had found.
    for (size_t j = 0; j < n_missed; ++j)
        if (b.made[j].key[1] << 4 >> 60 != 0) s.cache.insert(b.buckets[b.missed[j]], b.made[j]);
    s.cache.grow_if_crowded();
}

}  // namespace

void encode_segment(const SegmentTables& t, Bytes text, Scratch& s, IdBuffer* out, std::vector<PretokenSpan>* spans) {
    if (spans != nullptr) spans->clear();
    for (size_t pos = 0; pos < text.size;) {
        // One end in front, that of the pretoken before: each start is the end before it.
        s.ends[0] = pos;
        const size_t n = t.scan(text.data, text.size, pos, s.ends + 1, Scratch::kBlock);
        encode_block(
            t, text, n, [&](size_t i) { return s.ends[i]; }, [&](size_t i) { return s.ends[i + 1]; }, s, out, spans);
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
        const Piece* const block = pieces.data() + done;
        encode_block(
            t, text, n, [&](size_t i) { return size_t(block[i].start); },
            [&](size_t i) { return size_t(block[i].end); }, s, out, spans);
        done += n;
    }
}

}  // namespace crayon
