// Pre-tokenizers that cut by properties of characters: Whitespace, WhitespaceSplit, BertPreTokenizer, Punctuation,
// Digits, UnicodeScripts, FixedLength.
#include <cstring>

#include "pre_tokenizers/pre_tokenizer_common.h"
#include "support/bits.h"
#include "support/target.h"
#include "unicode/char_flags.h"
#include "unicode/class_lookup.h"

#if CRAYON_X86_64
#include <emmintrin.h>
#endif

namespace crayon {
namespace {

// The flags of up to 64 bytes of text, one bit per byte. All bytes of a character have its flags.
struct Block {
    uint64_t dropped = 0;
    uint64_t marked = 0;
    uint64_t leads = 0;  // the first bytes of characters
    size_t size = 0;     // in bytes; it ends at the end of a character
};

// The ASCII characters with a flag, as ranges.
class AsciiRanges {
  public:
    explicit AsciiRanges(uint8_t flag) {
        for (uint32_t c = 0; c < 128; ++c) {
            if ((kFlagBlocks[0][c] & flag) == 0) continue;
            if (count_ > 0 && uint32_t(first_[count_ - 1] + width_[count_ - 1]) + 1 == c) {
                ++width_[count_ - 1];
            } else {
                first_[count_] = uint8_t(c);
                width_[count_++] = 0;
            }
        }
    }

    // One bit for each of 64 bytes: whether it is ASCII with the flag.
    uint64_t members(const uint8_t* p) const {
        uint64_t bits = 0;
#if CRAYON_X86_64
        for (int i = 0; i < 64; i += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
            __m128i in = _mm_setzero_si128();
            for (size_t r = 0; r < count_; ++r) {
                const __m128i distance = _mm_sub_epi8(bytes, _mm_set1_epi8(char(first_[r])));
                const __m128i least = _mm_min_epu8(distance, _mm_set1_epi8(char(width_[r])));
                in = _mm_or_si128(in, _mm_cmpeq_epi8(least, distance));
            }
            bits |= uint64_t(uint32_t(_mm_movemask_epi8(in))) << i;
        }
#else
        for (size_t r = 0; r < count_; ++r) {
            for (int i = 0; i < 64; ++i) bits |= uint64_t(uint8_t(p[i] - first_[r]) <= width_[r]) << i;
        }
#endif
        return bits;
    }

  private:
    uint8_t first_[64];
    uint8_t width_[64];
    size_t count_ = 0;
};

inline bool is_ascii_64(const uint8_t* p) {
    uint64_t words[8];
    std::memcpy(words, p, 64);
    const uint64_t all = words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7];
    return (all & 0x8080808080808080u) == 0;
}

// Reads the flags `dropped` and `marked`.
class BlockReader {
  public:
    BlockReader(uint8_t dropped, uint8_t marked)
        : dropped_(dropped), marked_(marked), ascii_dropped_(dropped), ascii_marked_(marked) {}

    Block operator()(const uint8_t* p, const uint8_t* end) const {
        const size_t left = size_t(end - p);
        if (left >= 64) {
            if (is_ascii_64(p)) return read_ascii(p);
        } else if (left >= kShortest) {
            uint8_t padded[64] = {};
            std::memcpy(padded, p, left);
            if (is_ascii_64(padded)) {
                Block block = read_ascii(padded);
                block.size = left;
                return block;
            }
        }
#if CRAYON_X86_64
        if (left >= 64) return read_mixed(p, end);
#endif
        Block block;
        while (p < end) {
            const Decoded c = *p < 0x80 ? Decoded{*p, 1, true} : decode_multibyte(p, end);
            const uint32_t size = c.size;
            const uint8_t flags = c.valid ? char_flags(c.code_point) : 0;
            if (block.size + size > 64) break;
            const uint64_t bytes = (1u << size) - 1;
            block.dropped |= ((flags & dropped_) != 0 ? bytes : 0) << block.size;
            block.marked |= ((flags & marked_) != 0 ? bytes : 0) << block.size;
            block.leads |= uint64_t(1) << block.size;
            block.size += size;
            p += size;
        }
        return block;
    }

  private:
    static constexpr size_t kShortest = 16;  // in bytes; a shorter rest of a text is read without vectors

    Block read_ascii(const uint8_t* p) const {
        Block block;
        block.dropped = ascii_dropped_.members(p);
        block.marked = ascii_marked_.members(p);
        block.leads = ~uint64_t(0);
        block.size = 64;
        return block;
    }

#if CRAYON_X86_64
    // Handles ASCII at once, and other characters one by one. ASCII tests never match other bytes.
    Block read_mixed(const uint8_t* p, const uint8_t* end) const {
        Block block = read_ascii(p);
        uint64_t others = 0, inner = 0;  // bytes that are not ASCII, and continuation bytes among them
        for (int i = 0; i < 64; i += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
            others |= uint64_t(uint32_t(_mm_movemask_epi8(bytes))) << i;
            const __m128i is_inner = _mm_cmpgt_epi8(_mm_set1_epi8(char(0xC0)), bytes);
            inner |= uint64_t(uint32_t(_mm_movemask_epi8(is_inner))) << i;
        }
        block.leads = ~inner;
        for (uint64_t firsts = others & ~inner; firsts != 0; firsts &= firsts - 1) {
            const uint32_t i = lowest_set_bit(firsts);
            const Decoded c = decode_multibyte(p + i, end);
            if (i + c.size > 64) {
                block.size = i;
                break;
            }
            const uint8_t flags = c.valid ? char_flags(c.code_point) : 0;
            if ((flags & (dropped_ | marked_)) == 0) continue;
            const uint64_t bytes = ((uint64_t(1) << c.size) - 1) << i;
            if (flags & dropped_) block.dropped |= bytes;
            if (flags & marked_) block.marked |= bytes;
        }
        return block;
    }
#endif

    uint8_t dropped_, marked_;
    AsciiRanges ascii_dropped_, ascii_marked_;
};

// Cuts where one of two flags changes, and around each marked character if marked ones are `alone`. Omits dropped
// characters. Works on bit masks, because the ends of words are unpredictable.
class RunSplit final : public PreTokenizer {
  public:
    RunSplit(uint8_t dropped, uint8_t marked, bool alone)
        : read_(dropped, marked), dropped_(dropped), marked_(marked), alone_(alone) {}

    Shape shape() const override {
        if (dropped_ != kWhite) return Shape::other;
        return marked_ == 0 ? Shape::white_split : Shape::white_runs;
    }

    // Whether to cut between two neighbours depends on these two characters alone.
    Division divides(Border* b) const override {
        const uint8_t after = char_flags(b->after[0]);
        if (after & dropped_ || (alone_ && after & marked_)) return Division::apart;
        if (b->before[0] == kUnknownChar) return Division::none;
        const uint8_t before = char_flags(b->before[0]);
        const bool differs = (before & dropped_) != 0 || ((before ^ after) & marked_) != 0;
        return differs || (alone_ && before & marked_) ? Division::apart : Division::through;
    }

    void split(PieceList* list) const override {
        // Writes pieces past the end of the valid ones, so that a dropped piece costs no branch.
        std::vector<Piece>& out = list->spare_pieces;
        size_t count = 0;
        for (const Piece piece : list->pieces) {
            const Bytes bytes = bytes_of(*list, piece);
            uint32_t start = piece.start;
            bool kept = false;
            uint64_t last_dropped = 0, last_marked = 0;  // the flags of the byte before the block
            for (size_t at = 0; at < bytes.size;) {
                const Block block = read_(bytes.data + at, bytes.end());
                uint64_t cuts = (block.dropped ^ (block.dropped << 1 | last_dropped)) |
                                (block.marked ^ (block.marked << 1 | last_marked));
                if (alone_) cuts |= block.marked & block.leads;
                if (at == 0) cuts |= 1;
                if (block.size < 64) cuts &= (uint64_t(1) << block.size) - 1;
                if (out.size() < count + 65) out.resize(2 * out.size() + 128);
                while (cuts != 0) {
                    const uint32_t i = lowest_set_bit(cuts);
                    const uint32_t here = uint32_t(piece.start + at + i);
                    out[count] = {start, here};
                    count += kept ? 1 : 0;
                    start = here;
                    kept = (block.dropped >> i & 1) == 0;
                    cuts &= cuts - 1;
                }
                last_dropped = block.dropped >> (block.size - 1) & 1;
                last_marked = block.marked >> (block.size - 1) & 1;
                at += block.size;
            }
            out[count] = {start, piece.end};
            count += kept ? 1 : 0;
        }
        out.resize(count);
        list->pieces.swap(out);
    }

  private:
    BlockReader read_;
    uint8_t dropped_, marked_;
    bool alone_;
};

// The first character at p or later that has the flag, or the end.
const uint8_t* seek(const uint8_t* p, const uint8_t* end, uint8_t flag, uint32_t* size) {
    while (p < end) {
        const Decoded c = decode_utf8(p, end);
        *size = c.size;
        if (c.valid && (char_flags(c.code_point) & flag) != 0) return p;
        p += c.size;
    }
    return p;
}

// Cuts by a behavior at matches: each character with the flag is a match.
class FlagSplit final : public PreTokenizer {
  public:
    FlagSplit(uint8_t flag, Behavior behavior) : flag_(flag), behavior_(behavior) {}

    void split(PieceList* list) const override {
        cut_by(list, behavior_, false, [flag = flag_](Bytes bytes, auto& event) {
            const uint8_t* start = bytes.begin();
            uint32_t size = 0;
            while (start < bytes.end()) {
                const uint8_t* p = seek(start, bytes.end(), flag, &size);
                const size_t at = size_t(p - bytes.data);
                if (start < p) event(size_t(start - bytes.data), at, false);
                if (p == bytes.end()) break;
                event(at, at + size, true);
                start = p + size;
            }
        });
    }

  private:
    uint8_t flag_;
    Behavior behavior_;
};

// A piece begins where the script changes; a character of script "Any" joins the ones before it. As in the reference,
// text before the first character of another script is lost.
class UnicodeScripts final : public PreTokenizer {
  public:
    void split(PieceList* list) const override {
        ScriptFinder script_of;
        const uint8_t* const ascii = ascii_scripts();
        cut_each(list, [&script_of, ascii](Bytes bytes, auto emit) {
            uint8_t last = ScriptFinder::kAny;
            size_t start = bytes.size;
            for (const uint8_t* p = bytes.begin(); p < bytes.end();) {
                uint32_t size = 1;
                uint8_t script;
                if (*p < 0x80) {
                    script = ascii[*p];
                } else {
                    const Decoded c = decode_multibyte(p, bytes.end());
                    script = c.valid ? script_of(c.code_point) : ScriptFinder::kAny;
                    size = c.size;
                }
                if (script != last && script != ScriptFinder::kAny) {
                    const size_t at = size_t(p - bytes.data);
                    if (last != ScriptFinder::kAny) emit(start, at);
                    start = at;
                    last = script;
                }
                p += size;
            }
            emit(start, bytes.size);
        });
    }
};

class FixedLength final : public PreTokenizer {
  public:
    explicit FixedLength(uint64_t length) : length_(length) {}

    void split(PieceList* list) const override {
        cut_each(list, [length = length_](Bytes bytes, auto emit) {
            size_t start = 0;
            uint64_t chars = 0;
            for (size_t i = 0; i < bytes.size; ++i) {
                if (is_continuation(bytes[i])) continue;
                if (chars == length) {
                    emit(start, i);
                    start = i;
                    chars = 0;
                }
                ++chars;
            }
            emit(start, bytes.size);
        });
    }

  private:
    uint64_t length_;
};

}  // namespace

// Whitespace: each run of \w is a piece, and each run of characters that are neither \w nor \s.
std::unique_ptr<PreTokenizer> make_whitespace() {
    return std::make_unique<RunSplit>(kSpace, kWord, false);
}
std::unique_ptr<PreTokenizer> make_whitespace_split() {
    return std::make_unique<RunSplit>(kWhite, 0, false);
}
std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer() {
    return std::make_unique<RunSplit>(kWhite, kPunctuation, true);
}
std::unique_ptr<PreTokenizer> make_punctuation(Behavior behavior) {
    if (behavior == Behavior::isolated) return std::make_unique<RunSplit>(0, kPunctuation, true);
    return std::make_unique<FlagSplit>(kPunctuation, behavior);
}
std::unique_ptr<PreTokenizer> make_digits(bool individual) {
    if (individual) return std::make_unique<RunSplit>(0, kNumeric, true);
    return std::make_unique<RunSplit>(0, kNumeric, false);
}
std::unique_ptr<PreTokenizer> make_unicode_scripts() {
    return std::make_unique<UnicodeScripts>();
}
std::unique_ptr<PreTokenizer> make_fixed_length(uint64_t length) {
    return std::make_unique<FixedLength>(length);
}

}  // namespace crayon
