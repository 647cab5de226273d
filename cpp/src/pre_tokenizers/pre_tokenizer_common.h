// Shared by the pre-tokenizers' files: the factory of each kind, and cutting at matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/bytes.h"
#include "crayon/support/error.h"

namespace crayon {

// How matches of a pattern are cut: tokenizers' SplitDelimiterBehavior.
enum class Behavior : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

enum class PrependScheme : uint8_t { first, never, always };

std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex, bool raw,
                                              const PreTokenizerOptions& options);
std::unique_ptr<PreTokenizer> make_metaspace(std::string_view replacement, PrependScheme scheme, bool split);
std::unique_ptr<PreTokenizer> make_split_literal(std::string_view text, Behavior behavior, bool invert);
std::unique_ptr<PreTokenizer> make_split_regex(std::string_view pattern, Behavior behavior, bool invert,
                                               const PreTokenizerOptions& options);
std::unique_ptr<PreTokenizer> make_whitespace();
std::unique_ptr<PreTokenizer> make_whitespace_split();
std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer();
std::unique_ptr<PreTokenizer> make_punctuation(Behavior behavior);
std::unique_ptr<PreTokenizer> make_digits(bool individual);
std::unique_ptr<PreTokenizer> make_unicode_scripts();
std::unique_ptr<PreTokenizer> make_fixed_length(uint64_t length);

// A step that changes the text writes this byte where text between two pieces was removed. The byte is outside all
// pieces.
constexpr char kGap = '\0';

inline size_t count_gaps(const std::vector<Piece>& pieces) {
    size_t gaps = 0;
    for (size_t i = 1; i < pieces.size(); ++i) gaps += pieces[i - 1].end != pieces[i].start;
    return gaps;
}

inline Bytes bytes_of(const PieceList& list, Piece piece) {
    return {reinterpret_cast<const uint8_t*>(list.text.text.data()) + piece.start, piece.end - piece.start};
}

// Pieces have 32-bit offsets, so steps that lengthen a text check its size first.
inline void check_text_size(size_t size) {
    if (size > UINT32_MAX) throw Error(ErrorKind::argument, "the text is longer than 4 GiB after pre-tokenization");
}

// Cuts every piece on its own: `cut_one(bytes, emit)` calls emit(start, end), within the piece, in order.
template <typename CutOne>
void cut_each(PieceList* list, CutOne&& cut_one) {
    std::vector<Piece>& out = list->spare_pieces;
    out.clear();
    for (const Piece piece : list->pieces) {
        cut_one(bytes_of(*list, piece), [&out, piece](size_t start, size_t end) {
            if (start < end) out.push_back({uint32_t(piece.start + start), uint32_t(piece.start + end)});
        });
    }
    list->pieces.swap(out);
}

// Gets a piece's matches of a pattern and the text between the matches, in order. Emits pieces according to the
// behavior. An empty match also counts as a neighbour.
template <Behavior kBehavior, typename Emit>
class Delimiter {
  public:
    Delimiter(Emit emit, bool invert) : emit_(emit), invert_(invert) {}

    void operator()(size_t start, size_t end, bool is_match) {
        is_match = is_match != invert_;
        if constexpr (kBehavior == Behavior::removed) {
            if (!is_match) emit_(start, end);
        } else if constexpr (kBehavior == Behavior::isolated) {
            emit_(start, end);
        } else {
            bool joins;
            if constexpr (kBehavior == Behavior::merged_with_previous)
                joins = is_match && !last_match_;
            else if constexpr (kBehavior == Behavior::merged_with_next)
                joins = !is_match && last_match_;
            else
                joins = is_match == last_match_;
            if (!joins) {
                finish();
                held_start_ = start;
            }
            held_end_ = end;
            last_match_ = is_match;
        }
    }

    void finish() { emit_(held_start_, held_end_); }

  private:
    Emit emit_;
    bool invert_;
    bool last_match_ = false;
    size_t held_start_ = 0, held_end_ = 0;  // the last group of matches and text, which may still grow; initially empty
};

// Cuts every piece by a pattern. find(bytes, event) must call event(start, end, is_match) for each match and each text
// between matches.
template <Behavior kBehavior, typename Find>
void cut_with(PieceList* list, bool invert, Find& find) {
    cut_each(list, [&find, invert](Bytes bytes, auto emit) {
        Delimiter<kBehavior, decltype(emit)> delimiter(emit, invert);
        find(bytes, delimiter);
        delimiter.finish();
    });
}

template <typename Find>
void cut_by(PieceList* list, Behavior behavior, bool invert, Find&& find) {
    switch (behavior) {
        case Behavior::removed:
            return cut_with<Behavior::removed>(list, invert, find);
        case Behavior::isolated:
            return cut_with<Behavior::isolated>(list, invert, find);
        case Behavior::merged_with_previous:
            return cut_with<Behavior::merged_with_previous>(list, invert, find);
        case Behavior::merged_with_next:
            return cut_with<Behavior::merged_with_next>(list, invert, find);
        case Behavior::contiguous:
            return cut_with<Behavior::contiguous>(list, invert, find);
    }
}

// Emits the pretokens that a scanner finds in `bytes`. They cover all bytes.
template <typename Emit>
void scan_all(ScanFunction scan, Bytes bytes, Emit&& emit) {
    constexpr size_t kBatch = 256;
    size_t ends[kBatch];
    size_t pos = 0;
    size_t count;
    do {
        count = scan(bytes.data, bytes.size, pos, ends, kBatch);
        for (size_t i = 0; i < count; ++i) {
            emit(pos, ends[i]);
            pos = ends[i];
        }
    } while (count == kBatch);
}

}  // namespace crayon
