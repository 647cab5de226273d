#include "engine/byte_level.h"

#include <algorithm>

namespace crayon {
namespace {

WordIds& word_ids_of(const ByteLevelTables& t, Scratch& s, size_t which) {
    std::unique_ptr<WordIds>& words = s.words[which];
    if (words == nullptr) words = std::make_unique<WordIds>(t.kernels, s.memos == nullptr ? nullptr : s.memos + which);
    return *words;
}

// Returns the id of a pretoken of more than kWordKeyBytes that is one token, or -1.
int32_t find_whole(const ByteLevelTables& t, Bytes word) {
    if (word.size > t.cartridge.program().max_token_bytes) return -1;
    const int32_t id = t.cartridge.trie.find(word);
    return id >= 0 && (t.cartridge.token_flags[size_t(id)] & kWhole) ? id : -1;
}

// The ids of a pretoken that neither a cache nor the word table has. Cuts it into parts that merging never joins
// (byte_cuts.h), and looks these up, because text without spaces repeats the same few characters and pairs.
void merge_pretoken(const ByteLevelTables& t, Bytes word, Scratch& s, IdBuffer* out) {
    const int32_t id = word.size > kWordKeyBytes ? find_whole(t, word) : -1;
    if (id >= 0) return out->push(id);
    const auto merge = [&](Bytes part, IdBuffer* ids) {
        ids->reserve_more(part.size);
        ids->advance(s.merger.merge(t.merges, part, reinterpret_cast<uint32_t*>(ids->end())));
    };
    ByteCuts::Walk walk(t.cuts, word.data, word.size);
    size_t ends[WordIds::kBlock + 1];  // filled as far as they are read
    ends[0] = 0;
    ends[1] = walk.next();
    if (ends[1] == word.size) return merge(word, out);
    // With ignore_merges the word table also has tokens that merging does not make.
    const bool all_merged = !(t.cartridge.program().flags & kIgnoreMerges);
    const auto every = [](Bytes) { return true; };
    const WordMaker maker{merge,     true, all_merged ? t.cartridge.word_table : Array<WordEntry>(),
                          &t.merges, true, every};
    WordIds& parts = word_ids_of(t, s, Scratch::kParts);
    for (size_t n = 1;; n = 0) {
        while (n < WordIds::kBlock && ends[n] < word.size) ends[++n] = walk.next();
        parts.encode(word, n, TouchingWords{ends}, maker, out, [](size_t, size_t) {});
        if (ends[n] == word.size) return;
        ends[0] = ends[n];
    }
}

// Cuts a word into longest tokens. Every byte has a token.
size_t match_word(const ByteLevelTables& t, Bytes word, IdBuffer* out) {
    const size_t before = out->size();
    size_t at = t.match->cut(word, out);
    while (at < word.size) {
        out->push(int32_t(t.cartridge.byte_ids[word[at++]]));
        at += t.match->cut(word.slice(at, word.size), out);
    }
    return out->size() - before;
}

// Cuts one pretoken at seams (MatchSeams), if it can, and then into longest tokens. Returns the number of ids.
size_t match_pretoken(const ByteLevelTables& t, Bytes text, Scratch& s, IdBuffer* out) {
    const size_t before = out->size();
    if (t.seams == nullptr) return match_word(t, text, out);
    const auto make = [&](Bytes word, IdBuffer* ids) { match_word(t, word, ids); };
    const auto encode = [&](Bytes rest, const Piece* words, size_t n) {
        word_ids_of(t, s, Scratch::kWords).encode(rest, words, n, WordMaker{make}, out);
    };
    match_word(t, t.seams->cut(text, encode), out);
    return out->size() - before;
}

// Encodes up to WordIds::kBlock pretokens, in order.
template <typename Words>
void encode_block(const ByteLevelTables& t, Bytes text, size_t n, Words words, Scratch& s, IdBuffer* out,
                  std::vector<PretokenIds>* pretokens) {
    const auto on_word = [&](size_t i, size_t count) {
        if (pretokens != nullptr) pretokens->push_back({words.start(i), count});
    };
    if (t.seams != nullptr) {
        for (size_t i = 0; i < n; ++i) on_word(i, match_pretoken(t, text.slice(words.start(i), words.end(i)), s, out));
        return;
    }
    const auto make = [&](Bytes word, IdBuffer* ids) {
        if (t.match != nullptr)
            match_word(t, word, ids);
        else
            merge_pretoken(t, word, s, ids);
    };
    const auto is_uncut = [&](Bytes word) {
        return ByteCuts::Walk(t.cuts, word.data, word.size).next() == word.size && find_whole(t, word) < 0;
    };
    const bool merges = t.match == nullptr;
    const WordMaker maker{
        make,   merges,  merges ? t.cartridge.word_table : Array<WordEntry>(), merges ? &t.merges : nullptr,
        merges, is_uncut};
    word_ids_of(t, s, Scratch::kWords).encode(text, n, words, maker, out, on_word);
}

}  // namespace

void encode_scanned(const ByteLevelTables& t, Bytes text, Scratch& s, IdBuffer* out,
                    std::vector<PretokenIds>* pretokens) {
    if (pretokens != nullptr) pretokens->clear();
    for (size_t pos = 0; pos < text.size;) {
        // ends[0] is the end of the previous pretoken, because each pretoken starts at the end before it.
        s.ends[0] = pos;
        const size_t n = t.scan(text.data, text.size, pos, s.ends + 1, WordIds::kBlock);
        encode_block(t, text, n, TouchingWords{s.ends}, s, out, pretokens);
        pos = s.ends[n];
    }
}

void encode_whole(const ByteLevelTables& t, Bytes data, Scratch& s, IdBuffer* out) {
    match_pretoken(t, data, s, out);
}

void encode_pieces(const ByteLevelTables& t, Bytes text, const std::vector<Piece>& pieces, Scratch& s, IdBuffer* out,
                   std::vector<PretokenIds>* pretokens) {
    if (pretokens != nullptr) pretokens->clear();
    for (size_t done = 0; done < pieces.size();) {
        const size_t n = std::min(pieces.size() - done, WordIds::kBlock);
        encode_block(t, text, n, PieceWords{pieces.data() + done}, s, out, pretokens);
        done += n;
    }
}

}  // namespace crayon
