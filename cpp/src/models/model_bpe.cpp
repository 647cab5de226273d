// BPE on text. A piece can be a whole document (Llama 2 has no pre-tokenizer), so it is cut where no merge can join.
// The words between cuts are looked up in the thread's cache, and merged if they are new.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>

#include "crayon/support/error.h"
#include "encode/memo/word_ids.h"
#include "encode/merger/bpe_dropout.h"
#include "encode/merger/char_pairs.h"
#include "encode/merger/merge.h"
#include "encode/merger/spaced_pairs.h"
#include "models/known_tokens.h"
#include "models/model_common.h"
#include "support/bits.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

constexpr size_t kKeep = size_t(1) << 16;
constexpr size_t kMostSpaced = size_t(1) << 30;
constexpr uint32_t kTableAfter = 512;  // new words of a thread before it builds tables
constexpr size_t kWholeBytes = 31;     // largest piece that is looked up before it is cut into words

struct BpeScratch final : ModelScratch {
    Merger merger;
    std::optional<Dropout> dropout;
    // Of a word: its symbols, their sizes in bytes, its ids, and the number of symbols of each.
    std::vector<uint32_t> symbols, sizes, ids, counts;
    uint32_t new_words = 0;
    std::string first;  // a text's first word, after a space
    Piece words[WordIds::kBlock + 64];

    explicit BpeScratch(const ModelOptions& options) {
        if (options.is_random()) dropout.emplace(*options.dropout);
    }
    void make_room(size_t n) {
        for (auto* v : {&symbols, &sizes, &ids, &counts})
            if (v->size() < n) v->resize(n);
    }
    void trim() override {
        ModelScratch::trim();
        merger.trim();
        if (first.capacity() > kKeep) std::string().swap(first);
        for (auto* v : {&symbols, &sizes, &ids, &counts})
            if (v->capacity() > kKeep) std::vector<uint32_t>().swap(*v);
    }
    size_t bytes() const override {
        size_t words = 0;
        for (const auto* v : {&symbols, &sizes, &ids, &counts}) words += v->capacity();
        return ModelScratch::bytes() + merger.bytes() + first.capacity() + words * sizeof(uint32_t);
    }
};

// The merges as tables over the bytes of ASCII words, with a space for U+2581.
struct AsciiMerges {
    uint32_t ids[256];
    uint32_t ranks[128 << 8];  // of the first two symbols, as byte_pair_ranks
    MergeTables tables;
};

class Bpe final : public Model {
  public:
    Bpe(const ModelOptions& options, const Cartridge& cartridge, const Kernels& kernels);
    ~Bpe() override { delete ascii_.load(); }

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<BpeScratch>(options_); }
    void tokenize(Bytes piece, ModelScratch* scratch, std::vector<ModelToken>* out) const override;
    void encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const override;
    bool takes_spaced() const override { return mark_id_ != kNoId; }
    bool encode_spaced(Bytes text, bool prefix, ModelScratch* scratch, IdBuffer* out) const override;
    bool is_random() const override { return options_.is_random(); }
    bool takes_any_text() const override { return !options_.unk_token || unk_id_ != kNoId; }
    bool divides(const Border& border) const override;

  private:
    // A part of a piece. A part at an end of the piece can be spelled with a suffix, or without the prefix.
    struct Word {
        Bytes bytes;
        bool is_first, is_last;
    };

    uint32_t find_char(const uint8_t* p, size_t size, bool is_first, bool is_last) const;
    bool can_cut(Bytes piece, size_t before, size_t at, size_t end) const;
    size_t make_symbols(const Word& word, uint32_t* symbols, uint32_t* sizes) const;
    uint32_t merge_word(const Word& word, uint32_t start, BpeScratch& s, std::vector<ModelToken>* out) const;

    int64_t find_spaced(Bytes text, bool prefix) const;
    void merge_spaced(Bytes word, BpeScratch& s, IdBuffer* out) const;
    const AsciiMerges* ascii(BpeScratch& s) const;

    const ModelOptions options_;
    const DoubleArrayView trie_;
    const Array<uint32_t> byte_ids_;  // empty without byte_fallback
    MergeTables tables_;
    CharPairs pairs_;
    const std::string suffix_;
    const int32_t prefix_node_;  // the trie's node of characters that continue a piece
    uint32_t unk_id_ = kNoId;
    bool has_affixes_ = false;
    bool is_whole_ = false;    // Every character has symbols of its own, which merge only as char_pairs says.
    uint32_t ascii_ids_[128];  // Of a character inside a piece; kNoId if it is not one symbol.
    // For text whose spaces become U+2581. mark_id_, the symbol of U+2581, is kNoId if such text is not accepted.
    SpacedPairs spaced_;
    uint32_t mark_id_ = kNoId;
    mutable std::atomic<const AsciiMerges*> ascii_{nullptr};
};

Bpe::Bpe(const ModelOptions& options, const Cartridge& cartridge, const Kernels& kernels)
    : options_(options),
      trie_(cartridge.trie),
      byte_ids_(options.byte_fallback ? cartridge.byte_ids : Array<uint32_t>()),
      tables_(MergeTables::of(cartridge)),
      suffix_(options.end_of_word_suffix.value_or("")),
      prefix_node_(walk(cartridge.trie, options.continuing_subword_prefix.value_or(""))) {
    const Bytes pairs = cartridge.section(Section::char_pairs);
    if (cartridge.pair_table.size < 2 || cartridge.pair_filter.empty() || !is_char_pairs_size(pairs.size) ||
        (options.byte_fallback && byte_ids_.size != 256))
        throw Error(ErrorKind::cartridge, "the sections of the BPE model do not fit it");
    pairs_ = CharPairs(pairs);
    if (options.unk_token) unk_id_ = find_model_token(cartridge, *options.unk_token);
    has_affixes_ = options.has_affixes();
    const bool has_all_bytes =
        !byte_ids_.empty() && std::find(byte_ids_.begin(), byte_ids_.end(), kNoId) == byte_ids_.end();
    is_whole_ = has_all_bytes && pairs_.is_text_only();
    for (uint8_t c = 0; c < 128; ++c) {
        ascii_ids_[c] = find_char(&c, 1, false, false);
        if (ascii_ids_[c] == kNoId && has_all_bytes) ascii_ids_[c] = byte_ids_[c];
    }
    tables_.choose_batch(kernels);
    if (!is_whole_ || has_affixes_ || options_.is_random()) return;
    mark_id_ = find_char(Bytes(kSpaceMark).data, kSpaceMark.size(), false, false);
    spaced_ = SpacedPairs(pairs_, kernels);
}

// Returns the symbol of one character, or kNoId if it has none.
uint32_t Bpe::find_char(const uint8_t* p, size_t size, bool is_first, bool is_last) const {
    int32_t node = trie_.size == 0 ? -1 : is_first ? 0 : prefix_node_;
    for (size_t i = 0; i < size && node >= 0; ++i) node = trie_.step(node, p[i]);
    if (is_last)
        for (size_t i = 0; i < suffix_.size() && node >= 0; ++i) node = trie_.step(node, uint8_t(suffix_[i]));
    return node >= 0 && trie_.values[node] >= 0 ? uint32_t(trie_.values[node]) : kNoId;
}

// Whether merging never crosses the border at `at`. The characters around it are not a pair of char_pairs. Next to an
// unknown character merging may still cross the border: characters without a symbol are dropped or fused, and the
// unknown token only follows after the next bytes.
bool Bpe::can_cut(Bytes piece, size_t before, size_t at, size_t end) const {
    if (is_whole_) return true;
    return find_char(piece.data + before, at - before, before == 0, false) != kNoId &&
           find_char(piece.data + at, end - at, false, end == piece.size) != kNoId;
}

// `tokenize` cuts at the same places. With a suffix or prefix, tokens depend on where a piece begins and ends. A whole
// piece that is a token may cross any place. Dropped characters shift the offsets of later ones in a piece.
bool Bpe::divides(const Border& border) const {
    const uint32_t before = border.before[0], after = border.after[0];
    if (has_affixes_ || options_.ignore_merges || options_.is_random()) return false;
    if (before == kUnknownChar || after == kUnknownChar || pairs_.joins(before, after)) return false;
    const auto is_symbol = [this](uint32_t c) {
        std::string bytes;
        append_utf8(c, &bytes);
        return find_char(Bytes(bytes).data, bytes.size(), false, false) != kNoId;
    };
    return is_whole_ || (options_.unk_token && is_symbol(before) && is_symbol(after));
}

// Writes at most one symbol per byte, and the number of bytes of each. Returns the number of symbols.
size_t Bpe::make_symbols(const Word& word, uint32_t* symbols, uint32_t* sizes) const {
    const Bytes bytes = word.bytes;
    size_t n = 0;
    uint32_t unknown = 0;  // number of bytes that will become one unknown token
    const auto add = [&](uint32_t id, uint32_t size) {
        symbols[n] = id;
        sizes[n++] = size;
    };
    const auto add_unknown = [&] {
        if (unknown > 0) add(unk_id_, unknown);
        unknown = 0;
    };
    for (size_t at = 0, size; at < bytes.size; at += size) {
        size = char_size(bytes, at);
        uint32_t id;
        if (bytes[at] < 0x80 && !has_affixes_)
            id = ascii_ids_[bytes[at]];
        else
            id = find_char(bytes.data + at, size, word.is_first && at == 0, word.is_last && at + size == bytes.size);
        if (id != kNoId) {
            add_unknown();
            add(id, uint32_t(size));
            continue;
        }
        if (!byte_ids_.empty()) {
            size_t known = 0;
            while (known < size && byte_ids_[bytes[at + known]] != kNoId) ++known;
            if (known == size) {
                for (size_t i = 0; i < size; ++i) add(byte_ids_[bytes[at + i]], 1);
                continue;
            }
        }
        if (!options_.unk_token) continue;
        if (unk_id_ == kNoId)
            throw Error(ErrorKind::vocabulary, "Unk token `" + *options_.unk_token + "` not found in the vocabulary");
        if (!options_.fuse_unk) add_unknown();
        unknown += uint32_t(size);
    }
    add_unknown();
    return n;
}

uint32_t Bpe::merge_word(const Word& word, uint32_t start, BpeScratch& s, std::vector<ModelToken>* out) const {
    s.make_room(word.bytes.size);
    const size_t n = make_symbols(word, s.symbols.data(), s.sizes.data());
    Dropout* const dropout = s.dropout ? &*s.dropout : nullptr;
    const size_t count =
        dropout != nullptr
            ? s.merger.merge_heap(Symbols{tables_, s.symbols.data(), n}, s.ids.data(), s.counts.data(), dropout)
            : s.merger.merge(tables_, s.symbols.data(), n, s.ids.data(), s.counts.data());
    const uint32_t* size_of = s.sizes.data();
    for (size_t i = 0; i < count; ++i) {
        const uint32_t begin = start;
        for (uint32_t k = 0; k < s.counts[i]; ++k) start += *size_of++;
        out->push_back({s.ids[i], begin, start, false});
    }
    return start;
}

void Bpe::tokenize(Bytes piece, ModelScratch* scratch, std::vector<ModelToken>* out) const {
    BpeScratch& s = *static_cast<BpeScratch*>(scratch);
    const uint32_t size = checked_size(piece);
    // Dropout needs the piece as a whole: a skipped merge could not be tried again in a part.
    if (options_.is_random()) {
        merge_word({piece, true, true}, 0, s, out);
        return;
    }
    if (options_.ignore_merges) {
        const int32_t id = trie_.find(piece);
        if (id >= 0) {
            out->push_back({uint32_t(id), 0, size, false});
            return;
        }
    }
    uint32_t word = 0;   // start of the word
    uint32_t start = 0;  // start of the next token; dropped characters take no place
    size_t n = 0;        // words to look up
    const auto make = [&](Bytes bytes, std::vector<ModelToken>* tokens) {
        merge_word({bytes, false, false}, 0, s, tokens);
    };
    const auto add_word = [&](uint32_t end) {
        const bool is_known = !has_affixes_ && end - word <= Memo::kLongest;
        if (is_known) s.words[n++] = {word, end};
        if (!is_known || n == WordIds::kBlock || end == size) {
            start = add_known_tokens(piece, s.words, n, start, s, out, make);
            n = 0;
        }
        if (!is_known) start = merge_word({piece.slice(word, end), word == 0, end == size}, start, s, out);
        word = end;
    };
    Utf8Char last = char_at(piece, 0);
    for (size_t at = last.size; at < size;) {
        const Utf8Char now = char_at(piece, at);
        if (!pairs_.joins(last.code_point, now.code_point) && can_cut(piece, at - last.size, at, at + now.size))
            add_word(uint32_t(at));
        last = now;
        at += now.size;
    }
    add_word(size);
}

// Looks short pieces up whole, others by the words that tokenize cuts them into.
void Bpe::encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const {
    BpeScratch& s = *static_cast<BpeScratch*>(scratch);
    const bool is_cached = !options_.is_random();
    for (size_t i = 0; i < n;) {
        size_t few = i;
        while (is_cached && few < n && pieces[few].end - pieces[few].start <= kWholeBytes) ++few;
        Model::encode(text, pieces + i, few - i, scratch, out);
        for (i = few; i < n && (!is_cached || pieces[i].end - pieces[i].start > kWholeBytes); ++i)
            encode_piece(text.slice(pieces[i].start, pieces[i].end), &s, out);
    }
}

// Returns the id of the token that equals the whole text with its spaces as U+2581, or -1 if none does.
int64_t Bpe::find_spaced(Bytes text, bool prefix) const {
    int32_t node = prefix ? walk(trie_, kSpaceMark) : trie_.size > 0 ? 0 : -1;
    for (size_t i = 0; i < text.size && node >= 0; ++i) {
        if (text[i] != ' ') {
            node = trie_.step(node, text[i]);
        } else {
            for (const char byte : kSpaceMark)
                if (node >= 0) node = trie_.step(node, uint8_t(byte));
        }
    }
    return node >= 0 ? trie_.values[node] : -1;
}

// Returns null until kTableAfter new words make building the tables worthwhile.
const AsciiMerges* Bpe::ascii(BpeScratch& s) const {
    const AsciiMerges* found = ascii_.load(std::memory_order_acquire);
    if (found != nullptr || ++s.new_words < kTableAfter) return found;
    auto made = std::make_unique<AsciiMerges>();
    for (uint32_t c = 0; c < 128; ++c) made->ids[c] = c == ' ' ? mark_id_ : ascii_ids_[c];
    for (uint32_t a = 0; a < 128; ++a)
        for (uint32_t b = 0; b < 128; ++b) made->ranks[a << 8 | b] = tables_.rank(made->ids[a], made->ids[b]);
    made->tables = tables_;
    made->tables.byte_ids = made->ids;
    made->tables.byte_pair_ranks = made->ranks;
    // Lock-free, because a child of fork() could wait for ever. The first result is kept.
    if (ascii_.compare_exchange_strong(found, made.get())) found = made.release();
    return found;
}

void Bpe::merge_spaced(Bytes word, BpeScratch& s, IdBuffer* out) const {
    out->reserve_more(word.size);
    uint32_t* const to = reinterpret_cast<uint32_t*>(out->end());
    if (word.size <= Merger::kWhole) {
        uint8_t all = 0;
        for (const uint8_t byte : word) all |= byte;
        const AsciiMerges* const table = all < 0x80 ? ascii(s) : nullptr;
        if (table != nullptr) return out->advance(s.merger.merge_whole(ByteSymbols{table->tables, word}, to));
    }
    s.make_room(word.size);
    uint32_t* symbols = s.symbols.data();
    for (size_t at = 0, size; at < word.size; at += size) {
        size = char_size(word, at);
        uint32_t id = word[at] == ' ' ? mark_id_ : word[at] < 0x80 ? ascii_ids_[word[at]] : kNoId;
        if (id == kNoId) id = find_char(word.data + at, size, false, false);
        if (id != kNoId)
            *symbols++ = id;
        else
            for (size_t i = 0; i < size; ++i) *symbols++ = byte_ids_[word[at + i]];
    }
    out->advance(s.merger.merge(tables_, s.symbols.data(), size_t(symbols - s.symbols.data()), to, s.counts.data()));
}

// Cuts, looks up and merges words by the text's own bytes, with its spaces unchanged.
bool Bpe::encode_spaced(Bytes text, bool prefix, ModelScratch* scratch, IdBuffer* out) const {
    if (mark_id_ == kNoId || text.empty() || text.size > kMostSpaced) return false;
    BpeScratch& s = *static_cast<BpeScratch*>(scratch);
    if (options_.ignore_merges) {
        const int64_t id = find_spaced(text, prefix);
        if (id >= 0) {
            out->push(int32_t(id));
            return true;
        }
    }
    const auto merge = [&](Bytes word, IdBuffer* ids) { merge_spaced(word, s, ids); };
    const AsciiMerges* const ascii = ascii_.load(std::memory_order_acquire);
    const MergeTables* const together = ascii == nullptr ? nullptr : &ascii->tables;
    const WordMaker maker{merge, false, {}, together};
    WordIds& known = s.marked();
    size_t n = 0, start = 0;
    const auto add = [&](size_t end) {
        if (start == 0 && prefix) {
            s.first.assign(1, ' ');
            s.first.append(text.slice(0, end).view());
            const Piece whole{0, uint32_t(s.first.size())};
            known.encode(Bytes(s.first), &whole, 1, maker, out);
        } else {
            s.words[n++] = {uint32_t(start), uint32_t(end)};
        }
        start = end;
    };
    uint32_t last = text[0] < 0x80 ? text[0] : char_at(text, 0).code_point;
    for (size_t at = 1; at < text.size; at += 64) {
        const size_t size = std::min<size_t>(64, text.size - at);
        for (uint64_t cuts = spaced_.cuts(text, at, size, &last); cuts != 0; cuts &= cuts - 1)
            add(at + lowest_set_bit(cuts));
        if (n >= WordIds::kBlock) {
            known.encode(text, s.words, n, maker, out);
            n = 0;
        }
    }
    add(text.size);
    known.encode(text, s.words, n, maker, out);
    return true;
}

}  // namespace

std::unique_ptr<Model> make_bpe(const ModelOptions& options, const Cartridge& cartridge, const Kernels& kernels) {
    return std::make_unique<Bpe>(options, cartridge, kernels);
}

}  // namespace crayon
