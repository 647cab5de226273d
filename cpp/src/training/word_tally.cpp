// Words enter the table in blocks of kBlock, which may span texts. A word's cache line is prefetched when its key is
// made, and a block is counted when it is full, so that cache misses overlap.
#include "training/word_tally.h"

#include <algorithm>

#include "engine/text_walk.h"
#include "support/prefetch.h"

namespace crayon {

void WordTally::count(const Engine& engine, Bytes text, bool continues, Bytes readable, Scratch& s, const Poll& poll) {
    const Engine::Impl& p = engine.impl();
    // Returns where reads of 16 bytes at a word must end: the end of `readable` if the piece is inside `readable`, else
    // the end of the piece.
    const auto limit_of = [&](Bytes piece) {
        return piece.begin() >= readable.begin() && piece.end() <= readable.end() ? readable.end() : piece.end();
    };
    const auto on_added = [&](uint32_t, Bytes token, const Origin&) {
        if (counts_added_) add(token, kTextWord, 1);
    };
    const auto on_scanned = [&](Bytes piece, const Origin&) {
        const Bytes part = prefixed(p, piece, s);
        const uint8_t* const limit = limit_of(part);
        for (size_t at = 0, blocks = 1; at < part.size; ++blocks) {
            s.ends[0] = at;
            const size_t n = p.pipeline.scan(part.data, part.size, at, s.ends + 1, WordIds::kBlock);
            count_block(
                part, n, 0, limit, [&](size_t i) { return s.ends[i]; }, [&](size_t i) { return s.ends[i + 1]; });
            at = s.ends[n];
            if (blocks % 64 == 0) poll();
        }
    };
    const auto on_text = [&](Bytes piece, const Origin& place) {
        const PieceList& list = cut_text(p, piece, place, false, s);
        const Bytes cut = list.text.text;
        for (size_t done = 0; done < list.pieces.size();) {
            const Piece* const block = list.pieces.data() + done;
            const size_t n = std::min(list.pieces.size() - done, size_t(1) << 14);
            count_block(
                cut, n, p.on_bytes() ? 0 : kTextWord, cut.end(), [&](size_t i) { return size_t(block[i].start); },
                [&](size_t i) { return size_t(block[i].end); });
            done += n;
            if (done < list.pieces.size()) poll();
        }
    };
    if (p.pipeline.scan != nullptr)
        walk_text(p, text, false, false, s, on_added, on_scanned, continues);
    else
        walk_text(p, text, false, p.aligns_ids(), s, on_added, on_text, continues, p.words_only());
    bytes += text.size;
}

template <typename StartOf, typename EndOf>
void WordTally::count_block(Bytes text, size_t n, uint64_t kind, const uint8_t* limit, StartOf start_of, EndOf end_of) {
    for (size_t i = 0; i < n; ++i) {
        const size_t start = start_of(i), size = end_of(i) - start;
        if (size - 1 < kWordKeyBytes)
            wait_for(word_key(text.data + start, size, limit), kind);
        else
            add_long(text.slice(start, start + size), kind, 1);
    }
    total += n;
}

inline void WordTally::wait_for(WordKey key, uint64_t kind) {
    const uint64_t hi = key.hi | kind, hash = word_hash(key.lo, hi);
    prefetch(table.shard_of(hash).home(hash));
    waiting_[n_waiting_++] = {key.lo, hi, hash};
    if (n_waiting_ == kBlock) flush();
}

void WordTally::flush() {
    for (size_t i = 0; i < n_waiting_; ++i) {
        const Waiting& word = waiting_[i];
        table.shard_of(word.hash).add(word.lo, word.hi, word.hash, 1);
    }
    n_waiting_ = 0;
}

void WordTally::add_long(Bytes word, uint64_t kind, uint64_t n) {
    if (word.empty()) return;
    const uint64_t hash = WordCountTable::hash_long(word);
    table.shard_of(hash).add_long(word, kind, hash, n);
}

void WordTally::add(Bytes word, uint64_t kind, uint64_t n) {
    if (word.size - 1 < kWordKeyBytes) {
        const WordKey key = word_key(word.data, word.size, word.end());
        const uint64_t hi = key.hi | kind, hash = word_hash(key.lo, hi);
        table.shard_of(hash).add(key.lo, hi, hash, n);
    } else {
        add_long(word, kind, n);
    }
    total += n;
}

void WordTally::clear() {
    table.clear();
    n_waiting_ = 0;
    total = bytes = 0;
}

}  // namespace crayon
