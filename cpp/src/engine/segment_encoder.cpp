// Blocks of pretokens go through passes without branches that depend on the text, so that the cache misses of one block
// overlap: cut; make keys and ask for lines of the thread's cache; look up; write ids. What the cache did not have is
// made in between: from the cartridge's word table, whose lines are asked for first, or by merging.
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

// The entry of a pretoken of more than kWordKeyBytes and up to Memo::kLongest bytes.
WordEntry make_long(const SegmentTables& t, Bytes word, uint64_t hash, WordKey key, Scratch& s) {
    const WordKey long_key = MemoReader::key_of(word, hash);
    WordEntry entry;
    if (s.memo.find(long_key, hash, word, &entry)) {
        const MemoReader::Record& record = s.memo.record_of(entry);
        if (record.count() <= kWordIds) return make_word_entry(key, record.ids(), record.count());
    } else {
        uint32_t ids[Memo::kLongest + kWordIds];
        const size_t count = encode_long(t, word, s, ids);
        entry = s.memo.keep(long_key, hash, word, ids, count);
        if (count <= kWordIds) return make_word_entry(key, ids, count);
    }
    entry.key[0] = key.lo;
    entry.key[1] = key.hi | uint64_t(word_ids(entry)) << 60;
    return entry;
}

// Makes entries for what the cache did not have: for short pretokens from the memo, from the cartridge's word table, or
// by merging, all together; then for long ones.
template <typename WordAt>
void resolve_misses(const SegmentTables& t, size_t n_missed, WordAt word_at, Scratch& s) {
    auto& b = s.block;
    auto& m = s.missed;
    const WordEntry* const words = t.cartridge.word_table.data;
    const uint64_t bucket_mask = t.cartridge.word_table.size / 2 - 1;
    size_t n_new = 0, n_tasks = 0, n_waiting = 0, n_long = 0;
    for (size_t j = 0; j < n_missed; ++j) {
        const Bytes word = word_at(b.missed[j]);
        if (word.size - 1 >= Memo::kLongest) continue;
        m.hashes[j] = word.size <= kWordKeyBytes ? MemoReader::hash_of(b.keys[b.missed[j]]) : MemoReader::hash_of(word);
        s.memo.prefetch_place(m.hashes[j]);
    }
    for (size_t j = 0; j < n_missed; ++j) {
        const size_t i = b.missed[j];
        const WordKey key = b.keys[i];
        const Bytes word = word_at(i);
        WordEntry& made = b.made[j];
        b.entries[i] = &made;
        if (word.size - 1 >= kWordKeyBytes) {
            made = entry_of_kind({0, 0}, word.size > 0 ? kUncached : 0);
            if (word.size - 1 >= Memo::kLongest) continue;
            s.memo.prefetch_record(MemoReader::key_of(word, m.hashes[j]), m.hashes[j]);
            m.longs[n_long++] = uint32_t(j);
        } else if (!s.memo.find(key, m.hashes[j], {}, &made)) {
            prefetch(words + 2 * (m.hashes[j] & bucket_mask));
            m.fresh[n_new++] = uint32_t(j);
        }
    }
    for (size_t k = 0; k < n_new; ++k) {
        const size_t j = m.fresh[k];
        const WordKey key = b.keys[b.missed[j]];
        WordEntry& made = b.made[j];
        uint16_t& recent = b.recent[m.hashes[j] % b.kRecent];
        if (word_matches(b.made[recent], key)) {
            made = b.made[recent];
        } else if (const WordEntry* known = find_word(words, bucket_mask, m.hashes[j], key)) {
            made = *known;
            s.memo.keep(made, m.hashes[j]);
        } else {
            made = entry_of_kind(key, kTask, n_tasks);
            s.tasks[n_tasks] = {key, s.merged[n_tasks], 0};
            ++n_tasks;
        }
        m.waiting[n_waiting] = uint32_t(j);
        n_waiting += word_ids(made) == kTask;
        recent = uint16_t(j);
    }
    t.merges.batch(t.merges, s.tasks, n_tasks);
    for (size_t k = 0; k < n_waiting; ++k) {
        const size_t j = m.waiting[k];
        WordEntry& made = b.made[j];
        const MergeTask& task = s.tasks[made.ids[0]];
        if (task.count <= kWordIds) {
            made = make_word_entry(task.word, task.out, task.count);
            s.memo.keep(made, m.hashes[j]);
        } else if (!s.memo.find(task.word, m.hashes[j], {}, &made)) {  // a word of two of the missed
            made = s.memo.keep(task.word, m.hashes[j], {}, task.out, task.count);
        }
    }
    for (size_t k = 0; k < n_long; ++k) {
        const size_t j = m.longs[k], i = b.missed[j];
        b.made[j] = make_long(t, word_at(i), m.hashes[j], b.keys[i], s);
    }
}

// Writes what an entry does not hold itself.
size_t write_kept(const SegmentTables& t, Bytes word, const WordEntry& entry, Scratch& s, int32_t* out) {
    uint32_t* const ids = reinterpret_cast<uint32_t*>(out);
    if (word_ids(entry) != kRecorded) return encode_long(t, word, s, ids);
    return s.memo.record_of(entry).copy(ids);
}

// The longest tokens of a word. Every byte has one.
size_t match_word(const SegmentTables& t, Bytes word, IdBuffer* out) {
    const size_t before = out->size();
    size_t at = t.match->cut(word, out);
    while (at < word.size) {
        out->push(int32_t(t.cartridge.byte_ids[word[at++]]));
        at += t.match->cut(word.slice(at, word.size), out);
    }
    return out->size() - before;
}

// The same for `n` words of `text`, in order. Words that were met before are looked up.
void match_words(const SegmentTables& t, Bytes text, const Piece* words, size_t n, Scratch& s, IdBuffer* out) {
    if (!s.matched) s.matched.emplace(t.kernels, s.memos);
    s.matched->encode(text, words, n, out, [&](Bytes word, IdBuffer* ids) { match_word(t, word, ids); });
}

// One block of up to Scratch::kBlock pretokens, in order.
template <typename Words>
inline void encode_block(const SegmentTables& t, Bytes text, size_t n, Words words, Scratch& s, IdBuffer* out,
                         std::vector<PretokenSpan>* spans) {
    auto& b = s.block;
    b.refresh(s.memo, s.cache);
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

// One pretoken, which is cut at seams where there are any.
size_t match_pretoken(const SegmentTables& t, Bytes text, Scratch& s, IdBuffer* out) {
    const size_t before = out->size();
    if (t.seams == nullptr) return match_word(t, text, out);
    Piece words[MatchSeams::kWords];
    while (text.size > 0) {
        const size_t n = t.seams->words(text, words);
        if (n == 0) {
            match_word(t, text, out);
            break;
        }
        match_words(t, text, words, n, s, out);
        text = text.slice(words[n - 1].end, text.size);
    }
    return out->size() - before;
}

// One block of up to Scratch::kBlock pretokens by longest match.
template <typename Words>
void match_block(const SegmentTables& t, Bytes text, size_t n, Words words, Scratch& s, IdBuffer* out,
                 std::vector<PretokenSpan>* spans) {
    const size_t base = words.start(0);
    if (t.seams == nullptr && spans == nullptr && words.end(n - 1) - base <= UINT32_MAX) {
        Piece pieces[Scratch::kBlock];
        for (size_t i = 0; i < n; ++i) pieces[i] = {uint32_t(words.start(i) - base), uint32_t(words.end(i) - base)};
        return match_words(t, text.slice(base, text.size), pieces, n, s, out);
    }
    for (size_t i = 0; i < n; ++i) {
        const size_t count = match_pretoken(t, text.slice(words.start(i), words.end(i)), s, out);
        if (spans != nullptr) spans->push_back({words.start(i), count});
    }
}

template <typename Words>
void encode_or_match(const SegmentTables& t, Bytes text, size_t n, Words words, Scratch& s, IdBuffer* out,
                     std::vector<PretokenSpan>* spans) {
    if (t.match == nullptr)
        encode_block(t, text, n, words, s, out, spans);
    else
        match_block(t, text, n, words, s, out, spans);
}

}  // namespace

void encode_segment(const SegmentTables& t, Bytes text, Scratch& s, IdBuffer* out, std::vector<PretokenSpan>* spans) {
    if (spans != nullptr) spans->clear();
    for (size_t pos = 0; pos < text.size;) {
        // One end in front, that of the pretoken before: each start is the end before it.
        s.ends[0] = pos;
        const size_t n = t.scan(text.data, text.size, pos, s.ends + 1, Scratch::kBlock);
        encode_or_match(t, text, n, TouchingWords{s.ends}, s, out, spans);
        pos = s.ends[n];
    }
}

void encode_whole(const SegmentTables& t, Bytes data, Scratch& s, IdBuffer* out) {
    match_pretoken(t, data, s, out);
}

void encode_pieces(const SegmentTables& t, Bytes text, const std::vector<Piece>& pieces, Scratch& s, IdBuffer* out,
                   std::vector<PretokenSpan>* spans) {
    if (spans != nullptr) spans->clear();
    for (size_t done = 0; done < pieces.size();) {
        const size_t n = std::min(pieces.size() - done, Scratch::kBlock);
        encode_or_match(t, text, n, PieceWords{pieces.data() + done}, s, out, spans);
        done += n;
    }
}

}  // namespace crayon
