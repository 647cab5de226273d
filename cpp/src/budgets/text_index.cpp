#include "crayon/budgets/text_index.h"

#include <algorithm>

#include "budgets/text_parts.h"
#include "crayon/support/error.h"
#include "crayon/support/interrupt.h"

namespace crayon {
namespace {

// The least distance of two entries of places_, in units. A smaller one makes answers faster and the pass over the text
// slower.
constexpr size_t kPlaceEvery = 192;

bool is_digit(const TextView& text, size_t at) {
    const auto of = [&](const auto* units) { return units[at] - uint32_t('0') < 10u; };
    if (text.width == 2) return of(static_cast<const uint16_t*>(text.data));
    if (text.width == 4) return of(static_cast<const uint32_t*>(text.data));
    return of(static_cast<const uint8_t*>(text.data));
}

}  // namespace

// Where a range can be cut between its tokens, in units of the text. Its first `n` tokens end at ends[n], and the next
// one begins at starts[n].
struct TextIndex::Cuts {
    Cuts(const std::vector<Offset>& ranges, size_t from, size_t to) : ends(1, from), starts(ranges.size() + 1, to) {
        for (const Offset& range : ranges) ends.push_back(std::max(ends.back(), from + range.end));
        for (size_t n = ranges.size(); n-- > 0;) starts[n] = std::min(starts[n + 1], from + ranges[n].start);
    }
    size_t tokens() const { return starts.size() - 1; }
    // Whether the first `n` tokens share no character with later ones.
    bool divides(size_t n) const { return ends[n] <= starts[n]; }

    std::vector<size_t> ends, starts;
};

TextIndex::TextIndex(std::shared_ptr<const Engine> engine, const TextView& text, bool special_as_text, bool whole,
                     size_t begin)
    : engine_(std::move(engine)),
      text_(text),
      special_as_text_(special_as_text),
      seams_(engine_->seams(special_as_text)),
      places_{{begin, 0}} {
    if (engine_->is_random())
        throw Error(ErrorKind::unsupported, "the model has dropout, so the number of tokens of a text varies");
    if (whole) grow(SIZE_MAX);
}

TextIndex::~TextIndex() = default;

bool TextIndex::grow(size_t tokens) {
    InterruptWatch interrupts;
    PartEncoder encoder(*engine_, special_as_text_);
    SeamFinder cutter(seams_, text_, places_.back().at);
    while (known_tokens() <= tokens && !is_whole()) {
        const size_t from = places_.back().at, to = cutter.next(kPlaceEvery);
        places_.push_back({to, known_tokens() + encoder.count(text_, from, to, from > 0)});
        if (places_.size() % 64 == 0) interrupts.look_now_and_then();
    }
    return known_tokens() > tokens;
}

// The beginning and the end of the text count as seams.
TextIndex::Edges TextIndex::edges(size_t start, size_t end) const {
    const auto behind = [](size_t at, const SeamCount& place) { return at < place.at; };
    const SeamCount* const all = places_.data();
    const SeamCount* const stop = all + places_.size();
    const SeamCount *first = all, *last = stop - 1;
    if (start > all->at) {
        size_t reached = start + seams_.reach();
        if (seams_.counts_digits())
            while (reached < end && is_digit(text_, reached)) ++reached;
        first = std::upper_bound(all, stop, reached, behind);
    }
    if (end < last->at || !is_whole()) {
        last = std::upper_bound(all, stop, end - std::min(end, kSeamAfter), behind);
        if (last > all) --last;
    }
    return {first, last};
}

size_t TextIndex::work(size_t start, size_t end) const {
    const Edges inside = edges(start, end);
    if (inside.last <= inside.first) return end - start;
    return inside.first->at - start + (end - inside.last->at);
}

size_t TextIndex::count(size_t start, size_t end, PartEncoder* encoder) const {
    if (start == end) return 0;
    const Edges inside = edges(start, end);
    if (inside.last <= inside.first) return encoder->count(text_, start, end, continues(start));
    size_t n = inside.last->before - inside.first->before;
    if (start < inside.first->at) n += encoder->count(text_, start, inside.first->at, continues(start));
    if (inside.last->at < end) n += encoder->count(text_, inside.last->at, end, true);
    return n;
}

size_t TextIndex::count(size_t start, size_t end) const {
    PartEncoder encoder(*engine_, special_as_text_);
    return count(start, end, &encoder);
}

void TextIndex::ids(size_t start, size_t end, IdBuffer* out) const {
    if (start == end) return;
    PartEncoder encoder(*engine_, special_as_text_);
    InterruptWatch interrupts;
    const Edges inside = edges(start, end);
    if (inside.last <= inside.first) return encoder.encode(text_, start, end, continues(start), out);
    if (start < inside.first->at) encoder.encode(text_, start, inside.first->at, continues(start), out);
    // Encodes hundreds of parts at a time, which is faster.
    constexpr ptrdiff_t kTogether = 256;
    for (const SeamCount* place = inside.first; place < inside.last;) {
        const SeamCount* const next = place + std::min(kTogether, inside.last - place);
        encoder.encode(text_, place->at, next->at, place->at > 0, out);
        place = next;
        interrupts.look_now_and_then();
    }
    if (inside.last->at < end) encoder.encode(text_, inside.last->at, end, true, out);
}

size_t TextIndex::longest(size_t start, size_t most) const {
    const size_t known = places_.back().at;
    if (start >= known) return start;
    PartEncoder encoder(*engine_, special_as_text_);
    InterruptWatch interrupts;
    const Edges inside = edges(start, known);
    // Adds up the tokens from `start` on: first of the text up to the first seam, then between seams, up to the end of
    // the text that was read.
    const SeamCount* const stop = places_.data() + places_.size() - 1;
    const SeamCount* const first = std::min(inside.first, stop);
    const size_t head = start == first->at ? 0 : encoder.count(text_, start, first->at, continues(start));
    const auto tokens_to = [&](const SeamCount* place) { return head + (place->before - first->before); };
    if (tokens_to(stop) <= most) return known;
    const SeamCount* part =
        std::upper_bound(first, stop, most, [&](size_t n, const SeamCount& place) { return n < tokens_to(&place); });
    for (;; --part) {
        const bool is_head = part == first;
        const size_t from = is_head ? start : (part - 1)->at, before = is_head ? 0 : tokens_to(part - 1);
        const Cuts cuts(encoder.ranges(text_, from, part->at, from > 0 && (!is_head || continues(start))), from,
                        part->at);
        for (size_t n = std::min(cuts.tokens(), most - std::min(most, before)); n > 0; --n) {
            if (!cuts.divides(n)) continue;
            interrupts.look_now_and_then();
            if (count(start, cuts.ends[n], &encoder) <= most) return cuts.ends[n];
        }
        if (is_head) return start;
    }
}

size_t TextIndex::longest_before(size_t end, size_t most) const {
    const SeamCount* const first = places_.data();
    if (end <= first->at) return end;
    PartEncoder encoder(*engine_, special_as_text_);
    InterruptWatch interrupts;
    const Edges inside = edges(first->at, end);
    const SeamCount* const last = std::max(inside.last, first);
    const size_t tail = end == last->at ? 0 : encoder.count(text_, last->at, end, last->at > 0);
    const auto tokens_from = [&](const SeamCount* place) { return tail + (last->before - place->before); };
    if (tokens_from(first) <= most) return first->at;
    // The first seam with at most `most` tokens between it and the end of the range, or else that end.
    const SeamCount* part =
        std::partition_point(first, last + 1, [&](const SeamCount& place) { return tokens_from(&place) > most; });
    for (;; ++part) {
        const bool is_tail = part > last;
        const size_t from = (part - 1)->at, to = is_tail ? end : part->at;
        const size_t after = is_tail ? 0 : tokens_from(part);
        const Cuts cuts(encoder.ranges(text_, from, to, from > 0), from, to);
        for (size_t n = std::min(cuts.tokens(), most - std::min(most, after)); n > 0; --n) {
            const size_t at = cuts.tokens() - n;
            if (!cuts.divides(at)) continue;
            interrupts.look_now_and_then();
            if (count(cuts.starts[at], end, &encoder) <= most) return cuts.starts[at];
        }
        if (is_tail) return end;
    }
}

}  // namespace crayon
