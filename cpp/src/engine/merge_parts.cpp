// Looks up parts of up to 15 bytes, many at a time, so that their cache misses overlap. First in a cache of parts,
// because text without spaces repeats the same few characters and pairs, then in the word table. Merges missing parts
// together.
#include "engine/merge_parts.h"

#include <cstring>

#include "support/prefetch.h"

namespace crayon {
namespace {

constexpr size_t kParts = 64;
constexpr uint64_t kMostBuckets = uint64_t(1) << 14;  // of the cache: 1 MiB

struct WordPart {
    size_t start, size;
    WordKey key;
    uint64_t bucket;        // of the cache
    WordEntry entry;        // the ids of the part
    const MergeTask* task;  // or the task that merges it
};

}  // namespace

size_t merge_parts(const SegmentTables& t, Bytes word, Scratch& s, uint32_t* out) {
    ByteCuts::Walk walk(t.cuts, word.data, word.size);
    size_t end = walk.next();
    if (end == word.size && word.size > kWordKeyBytes) return s.merger.merge(t.merges, word, out);

    if (!s.parts) s.parts.emplace(kMostBuckets);
    WordCache& cache = *s.parts;
    const WordEntry* const words = t.cartridge.word_table.data;
    const uint64_t bucket_mask = t.cartridge.word_table.size / 2 - 1;
    // With ignore_merges the table also has tokens that merging does not make.
    const bool all_merged = !(t.cartridge.program().flags & kIgnoreMerges);
    const auto is_merged = [&](const WordEntry& entry) {
        return all_merged || word_ids(entry) > 1 || (t.cartridge.token_flags[entry.ids[0]] & kMerged);
    };
    WordPart parts[kParts];
    WordPart* missed[kParts];
    uint64_t hashes[kParts];
    MergeTask tasks[kParts];
    uint32_t merged[kParts][MergeTask::kRoom];
    uint32_t* to = out;
    for (size_t at = 0; at < word.size;) {
        size_t n = 0, n_missed = 0, n_tasks = 0;
        for (; n < kParts && at < word.size; ++n) {
            WordPart& part = parts[n];
            part.start = at;
            part.size = end - at;
            at = end;
            if (at < word.size) end = walk.next();
            if (part.size > kWordKeyBytes) continue;
            part.key = word_key(word.data + part.start, part.size, word.end());
            part.bucket = WordCache::hash(part.key) >> cache.shift();
            prefetch(cache.buckets() + part.bucket);
        }
        for (WordPart* part = parts; part < parts + n; ++part) {
            if (part->size > kWordKeyBytes) continue;
            part->task = nullptr;
            if (const WordEntry* known = cache.find(part->bucket, part->key)) {
                part->entry = *known;
                continue;
            }
            hashes[n_missed] = word_hash(part->key.lo, part->key.hi);
            prefetch(words + 2 * (hashes[n_missed] & bucket_mask));
            missed[n_missed++] = part;
        }
        for (size_t i = 0; i < n_missed; ++i) {
            WordPart* const part = missed[i];
            const WordEntry* const entry = find_word(words, bucket_mask, hashes[i], part->key);
            if (entry != nullptr && is_merged(*entry)) {
                part->entry = *entry;
                continue;
            }
            part->task = &(tasks[n_tasks] = {part->key, merged[n_tasks], 0});
            ++n_tasks;
        }
        t.merges.batch(t.merges, tasks, n_tasks);
        for (size_t i = 0; i < n_missed; ++i) {
            WordPart* const part = missed[i];
            if (part->task != nullptr) {
                if (part->task->count > kWordIds) continue;
                part->entry = make_word_entry(part->key, part->task->out, part->task->count);
                part->task = nullptr;
            }
            cache.insert(part->bucket, part->entry);
        }
        for (const WordPart* part = parts; part < parts + n; ++part) {
            if (part->size > kWordKeyBytes) {
                to += s.merger.merge(t.merges, word.slice(part->start, part->start + part->size), to);
            } else if (part->task == nullptr) {
                std::memcpy(to, part->entry.ids, sizeof part->entry.ids);
                to += word_ids(part->entry);
            } else {
                std::memcpy(to, part->task->out, part->task->count * sizeof *to);
                to += part->task->count;
            }
        }
        cache.grow_if_crowded();
    }
    return size_t(to - out);
}

}  // namespace crayon
