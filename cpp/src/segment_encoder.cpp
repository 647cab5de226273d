// Blocks of pretokens go through three passes, so that the cache misses of one block overlap: cut; make keys and hashes
// and ask for the table lines; look up. What the word table does not have goes to the thread's cache, then to merging.
#include "segment_encoder.h"

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

// A pretoken of more than 15 bytes.
size_t encode_long(const SegmentTables& t, Bytes word, Merger& merger, int32_t* out) {
    if (word.size <= t.cartridge.program().max_token_bytes) {
        const int32_t id = t.cartridge.trie.find(word);
        if (id >= 0 && (t.cartridge.token_flags[size_t(id)] & kWhole)) {
            *out = id;
            return 1;
        }
    }
    return merger.merge(t.merges, word, reinterpret_cast<uint32_t*>(out));
}

size_t encode_miss(const SegmentTables& t, Bytes word, WordKey key, uint64_t hash, Scratch& s, int32_t* out) {
    if (const WordEntry* cached = s.cache.find(hash, key)) return copy_ids(*cached, out);
    uint32_t* ids = reinterpret_cast<uint32_t*>(out);
    const size_t count = s.merger.merge(t.merges, word, ids);
    if (count <= kWordIds) s.cache.insert(hash, key, ids, count);
    return count;
}

}  // namespace

void encode_segment(const SegmentTables& t, Bytes text, Scratch& s, IdBuffer* out, std::vector<PretokenSpan>* spans) {
    if (spans != nullptr) spans->clear();
    const WordEntry* const words = t.cartridge.word_table.data;
    const uint64_t bucket_mask = t.cartridge.word_table.size / 2 - 1;
    for (size_t pos = 0; pos < text.size;) {
        const size_t n = t.scan(text.data, text.size, pos, s.ends, Scratch::kBlock);
        size_t start = pos;
        for (size_t i = 0; i < n; ++i) {
            const size_t size = s.ends[i] - start;
            if (size <= kWordKeyBytes) {
                s.keys[i] = word_key(text.data + start, size, text.end());
                s.hashes[i] = word_hash(s.keys[i].lo, s.keys[i].hi);
                prefetch(words + 2 * (s.hashes[i] & bucket_mask));
            }
            start = s.ends[i];
        }
        // No pretoken becomes more ids than it has bytes; copy_ids writes up to three past what it needs.
        out->reserve_more(s.ends[n - 1] - pos + kWordIds);
        int32_t* to = out->end();
        start = pos;
        for (size_t i = 0; i < n; ++i) {
            const size_t size = s.ends[i] - start;
            size_t count;
            if (size <= kWordKeyBytes) {
                const WordEntry* entry = find_word(words, bucket_mask, s.hashes[i], s.keys[i]);
                count = entry ? copy_ids(*entry, to)
                              : encode_miss(t, text.slice(start, s.ends[i]), s.keys[i], s.hashes[i], s, to);
            } else {
                count = encode_long(t, text.slice(start, s.ends[i]), s.merger, to);
            }
            to += count;
            if (spans != nullptr) spans->push_back({s.ends[i], count});
            start = s.ends[i];
        }
        out->advance(size_t(to - out->end()));
        pos = start;
    }
}

}  // namespace crayon
