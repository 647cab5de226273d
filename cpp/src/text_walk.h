// The order in which the reference takes a text apart: added tokens of the text as it is, then for each piece between
// them the normalizer, added tokens of the normalized text, and the prefix space of each piece that is left.
#pragma once

#include "crayon/normalize.h"
#include "engine_parts.h"
#include "segment_encoder.h"

namespace crayon {

// Where in the original text a piece of (normalized, prefixed) text comes from.
struct Place {
    size_t base = 0;                        // original offset of the piece, or of the text that was normalized
    const Alignment* alignments = nullptr;  // per byte of the piece, relative to base; null: byte i is at base + i
    bool prefixed = false;                  // the piece begins with a space that the text has not
    Bytes bytes;                            // of an added token: the text that matched
};

// Calls on_added(id, place) and on_text(bytes, place) in order. Alignments are given only if asked for.
template <typename OnAdded, typename OnText>
void walk_text(const Engine::Parts& p, const Cartridge& cartridge, Bytes text, bool special_as_text, bool aligned,
               Scratch& s, OnAdded&& on_added, OnText&& on_text) {
    const auto plain = [&](Bytes piece, Place place) {
        if (piece.empty()) return;
        if (p.add_prefix_space && piece[0] != ' ') {
            s.prefixed.assign(1, ' ');
            s.prefixed.append(piece.view());
            place.prefixed = true;
            on_text(Bytes(s.prefixed), place);
        } else {
            on_text(piece, place);
        }
    };
    const auto between = [&](Bytes piece, size_t base) {
        Place place;
        place.base = base;
        if (p.normalizer == NormalizerKind::nfc && !is_nfc_quick(piece)) {
            normalize_nfc(piece, &s.normalized, aligned ? &s.alignments : nullptr);
            piece = Bytes(s.normalized);
            if (aligned) place.alignments = s.alignments.data();
        }
        if (p.added_normalized.empty()) {
            plain(piece, place);
            return;
        }
        p.added_normalized.split(piece, special_as_text, &s.inner_segments);
        for (const Segment& inner : s.inner_segments) {
            Place here = place;
            const Bytes bytes = piece.slice(inner.start, inner.stop);
            if (place.alignments != nullptr)
                here.alignments += inner.start;
            else
                here.base += inner.start;
            if (inner.added == kPlainText) {
                plain(bytes, here);
            } else {
                here.bytes = bytes;
                on_added(cartridge.added_tokens[size_t(inner.added)].id, here);
            }
        }
    };
    if (p.added.empty()) {
        if (!text.empty()) between(text, 0);
        return;
    }
    p.added.split(text, special_as_text, &s.segments);
    for (const Segment& segment : s.segments) {
        const Bytes bytes = text.slice(segment.start, segment.stop);
        if (segment.added == kPlainText) {
            between(bytes, segment.start);
        } else {
            Place place;
            place.base = segment.start;
            place.bytes = bytes;
            on_added(cartridge.added_tokens[size_t(segment.added)].id, place);
        }
    }
}

}  // namespace crayon
