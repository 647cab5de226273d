// Blocks of pretokens go through three passes, so that the cache misses of one block overlap: cut; make keys and hashes
// and ask for the table lines; look up. What the word table does not have goes to the thread's cache, then to merging.
// Longest match needs none of this: it is a search for the text's own bytes.
#include "segment_encoder.h"

#include <algorithm>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace crayon {
namespace {

inline void prefetch(const void* p) {
#if defined(_MSC_VER)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#else
    __builtin_prefetch(p);
#endif
}

// Copies all four ids, of which the first `count` matter: cheaper than a branch on the count.
inline size_t copy_ids(const WordEntry& entry, int32_t* out) {
    std::memcpy(out, entry.ids, sizeof entry.ids);
    return word_ids(entry);
}

// A part that cannot be cut, of up to 15 bytes.
size_t encode_miss(const SegmentTables& t, Bytes word, WordKey key, uint64_t hash, Scratch& s, int32_t* out) {
    if (const WordEntry* cached = s.cache.find(hash, key)) return copy_ids(*cached, out);
    uint32_t* ids = reinterpret_cast<uint32_t*>(out);
    const size_t count = s.merger.merge(t.merges, word, ids);
    if (count <= kWordIds) s.cache.insert(hash, key, ids, count);
    return count;
}

// Merging alone, of one part after the other, several looked up together. With ignore_merges the table has tokens that
// merging does not make; all of up to 15 bytes are there, so the cache, which is asked after it, has merges alone.
size_t merge_parts(const SegmentTables& t, Bytes word, Scratch& s, int32_t* out) {
    constexpr size_t kParts = 32;
    struct Part {
        size_t start, size;
        WordKey key;
        uint64_t hash;
    } parts[kParts];
    const WordEntry* const words = t.cartridge.word_table.data;
    const uint64_t bucket_mask = t.cartridge.word_table.size / 2 - 1;
    const bool all_merged = !(t.cartridge.program().flags & kIgnoreMerges);
    const auto is_merged = [&](const WordEntry& entry) {
        return all_merged || word_ids(entry) > 1 || (t.cartridge.token_flags[entry.ids[0]] & kMerged);
    };
    int32_t* to = out;
    ByteCuts::Walk walk(t.cuts, word.data, word.size);
    for (size_t at = 0; at < word.size;) {
        size_t n = 0;
        for (; n < kParts && at < word.size; ++n) {
            const size_t end = walk.next();
            Part& part = parts[n];
            part.start = at;
            part.size = end - at;
            at = end;
            if (part.size > kWordKeyBytes) continue;
            part.key = word_key(word.data + part.start, part.size, word.end());
            part.hash = word_hash(part.key.lo, part.key.hi);
            prefetch(words + 2 * (part.hash & bucket_mask));
        }
        for (size_t i = 0; i < n; ++i) {
            const Part& part = parts[i];
            const Bytes bytes(word.data + part.start, part.size);
            if (part.size > kWordKeyBytes) {
                to += s.merger.merge(t.merges, bytes, reinterpret_cast<uint32_t*>(to));
                continue;
            }
            const WordEntry* entry = find_word(words, bucket_mask, part.hash, part.key);
            to += entry && is_merged(*entry) ? copy_ids(*entry, to) : encode_miss(t, bytes, part.key, part.hash, s, to);
        }
    }
    return size_t(to - out);
}

// A pretoken of up to 15 bytes that is not in the word table.
size_t encode_short(const SegmentTables& t, Bytes word, WordKey key, uint64_t hash, Scratch& s, int32_t* out) {
    if (const WordEntry* cached = s.cache.find(hash, key)) return copy_ids(*cached, out);
    if (ByteCuts::Walk(t.cuts, word.data, word.size).next() == word.size)
        return encode_miss(t, word, key, hash, s, out);
    const size_t count = merge_parts(t, word, s, out);
    if (count <= kWordIds) s.cache.insert(hash, key, reinterpret_cast<uint32_t*>(out), count);
    return count;
}

// A pretoken of more than 15 bytes.
size_t encode_long(const SegmentTables& t, Bytes word, Scratch& s, int32_t* out) {
    if (word.size <= t.cartridge.program().max_token_bytes) {
        const int32_t id = t.cartridge.trie.find(word);
        if (id >= 0 && (t.cartridge.token_flags[size_t(id)] & kWhole)) {
            *out = id;
            return 1;
        }
    }
    return merge_parts(t, word, s, out);
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
    const WordEntry* const words = t.cartridge.word_table.data;
    const uint64_t bucket_mask = t.cartridge.word_table.size / 2 - 1;
    for (size_t i = 0; i < n; ++i) {
        const size_t start = start_of(i), size = end_of(i) - start;
        if (size <= kWordKeyBytes) {
            s.keys[i] = word_key(text.data + start, size, text.end());
            s.hashes[i] = word_hash(s.keys[i].lo, s.keys[i].hi);
            prefetch(words + 2 * (s.hashes[i] & bucket_mask));
        }
    }
    // No pretoken becomes more ids than it has bytes; copy_ids writes up to three past what it needs.
    out->reserve_more(end_of(n - 1) - start_of(0) + kWordIds);
    int32_t* to = out->end();
    for (size_t i = 0; i < n; ++i) {
        const size_t start = start_of(i), end = end_of(i);
        size_t count;
        if (end - start <= kWordKeyBytes) {
            const WordEntry* entry = find_word(words, bucket_mask, s.hashes[i], s.keys[i]);
            count =
                entry ? copy_ids(*entry, to) : encode_short(t, text.slice(start, end), s.keys[i], s.hashes[i], s, to);
        } else {
            count = encode_long(t, text.slice(start, end), s, to);
        }
        to += count;
        if (spans != nullptr) spans->push_back({start, count});
    }
    out->advance(size_t(to - out->end()));
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
