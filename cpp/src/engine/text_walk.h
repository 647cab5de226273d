// Takes a text apart in the order of Hugging Face tokenizers (the reference). First come added tokens of the original
// text. For each piece between them, the normalizer follows, then added tokens of the normalized text.
#pragma once

#include <algorithm>
#include <cstdint>

#include "crayon/support/error.h"
#include "engine/engine_impl.h"

namespace crayon {

// The size of a text. Throws Error(argument) if its pieces would not fit Piece.
inline uint32_t size_to_cut(Bytes text) {
    if (text.size > UINT32_MAX)
        throw Error(ErrorKind::argument, "a text of 4 GiB or more cannot be cut into pieces: encode it in parts");
    return uint32_t(text.size);
}

// The origin of a piece of normalized text.
struct Origin {
    size_t base = 0;                        // Original offset of the piece, or of the text that was normalized.
    const Alignment* alignments = nullptr;  // Per byte of the piece, relative to base; null: byte i is at base + i.
    size_t unplaced = 0;                    // AlignedText::unplaced of the piece.
    bool continues = false;                 // Whether other text precedes the text.
};

// walk_text calls on_added(id, bytes, origin) and on_text(bytes, origin) in order. Origins have alignments if
// `aligned`. With `continues`, a piece at the start is the second part of a piece that was cut at a seam (seams.h).
// With `words_only`, a normalizer that only changes white space to other white space is skipped. on_raw(bytes,
// continues) gets each piece before it is normalized, and returns whether it has handled the piece.
struct NeverRaw {
    bool operator()(Bytes, bool) const { return false; }
};

template <typename OnAdded, typename OnText, typename OnRaw = NeverRaw>
void walk_text(const Engine::Impl& p, Bytes text, bool special_as_text, bool aligned, Scratch& s, OnAdded&& on_added,
               OnText&& on_text, bool continues = false, bool words_only = false, OnRaw&& on_raw = OnRaw()) {
    const Vocabulary& vocabulary = *p.vocabulary;
    const Normalizer* const normalizer = p.pipeline.normalizer.get();
    const auto between = [&](Bytes piece, size_t base) {
        if (on_raw(piece, continues && base == 0)) return;
        Origin place;
        place.base = base;
        place.continues = continues;
        if (normalizer != nullptr && !(words_only ? normalizer->keeps_words(piece) : normalizer->leaves(piece))) {
            s.normalized.assign(piece, aligned);
            s.normalized.continues = continues && base == 0;
            normalizer->normalize(&s.normalized);
            piece = Bytes(s.normalized.text);
            place.unplaced = s.normalized.unplaced;
            if (aligned) place.alignments = s.normalized.alignments.data();
        }
        if (vocabulary.normalized_matcher().empty()) {
            if (!piece.empty()) on_text(piece, place);
            return;
        }
        vocabulary.normalized_matcher().split(piece, special_as_text, &s.inner_matched);
        for (const MatchedPart& inner : s.inner_matched) {
            Origin here = place;
            here.unplaced = std::min(inner.stop, place.unplaced) - std::min(inner.start, place.unplaced);
            const Bytes bytes = piece.slice(inner.start, inner.stop);
            if (place.alignments != nullptr)
                here.alignments += inner.start;
            else
                here.base += inner.start;
            if (inner.added == kPlainText)
                on_text(bytes, here);
            else
                on_added(vocabulary.added()[size_t(inner.added)].id, bytes, here);
        }
    };
    if (vocabulary.matcher().empty()) {
        if (!text.empty()) between(text, 0);
        return;
    }
    vocabulary.matcher().split(text, special_as_text, &s.matched);
    for (const MatchedPart& part : s.matched) {
        const Bytes bytes = text.slice(part.start, part.stop);
        Origin place;
        place.base = part.start;
        if (part.added == kPlainText)
            between(bytes, part.start);
        else
            on_added(vocabulary.added()[size_t(part.added)].id, bytes, place);
    }
}

// Returns a piece as the scanner takes it: with a space in front where the reference adds one. A piece with such a
// space is stored in s.prefixed. The second part of a cut piece begins with a space (Seams), so it gets none.
inline Bytes prefixed(const Engine::Impl& p, Bytes piece, Scratch& s) {
    if (!p.pipeline.add_prefix_space || piece[0] == ' ') return piece;
    s.prefixed.assign(1, ' ');
    s.prefixed.append(piece.view());
    return s.prefixed;
}

// Makes one piece of pieces that touch.
inline void join_pieces(std::vector<Piece>* pieces) {
    size_t n = 0;
    for (const Piece piece : *pieces) {
        if (n > 0 && (*pieces)[n - 1].end == piece.start)
            (*pieces)[n - 1].end = piece.end;
        else
            (*pieces)[n++] = piece;
    }
    pieces->resize(n);
}

// Cuts a piece of text by the pipeline's pre-tokenizer, into s.pieces.
inline const PieceList& cut_text(const Engine::Impl& p, Bytes text, const Origin& place, bool aligned, Scratch& s) {
    const PreTokenizer* const pre_tokenizer = p.pipeline.pre_tokenizer.get();
    // In unnormalized text, alignments tell nothing new to a pre-tokenizer that reads them before any change.
    const bool with_alignments =
        aligned || place.alignments != nullptr || (pre_tokenizer != nullptr && pre_tokenizer->needs_own_alignments());
    const uint32_t size = size_to_cut(text);
    PieceList& list = s.pieces;
    list.base = place.base;
    list.continues = place.continues;
    if (with_alignments && place.alignments != nullptr) {
        list.text.text.assign(text.view());
        list.text.alignments.assign(place.alignments, place.alignments + text.size);
        list.text.aligned = true;
    } else {
        list.text.assign(text, with_alignments);
    }
    list.text.unplaced = place.unplaced;
    list.pieces.clear();
    if (!text.empty()) list.pieces.push_back({0, size});
    if (pre_tokenizer != nullptr) pre_tokenizer->split(&list);
    if (p.pipeline.joins_pieces) join_pieces(&list.pieces);
    return list;
}

// Whether cut_text kept all of `text`, unchanged.
inline bool keeps_all(const PieceList& list, Bytes text) {
    size_t done = 0;
    for (const Piece& piece : list.pieces) {
        if (piece.start != done) return false;
        done = piece.end;
    }
    return done == text.size && list.text.text == text.view();
}

}  // namespace crayon
