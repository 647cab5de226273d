// Takes a text apart into the pieces for the model.
#include "crayon/trace/trace.h"

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "engine/engine_impl.h"
#include "engine/text_walk.h"
#include "trace/trace_common.h"

namespace crayon {
namespace {

struct Range {
    size_t start, end;
};

// Returns the range of input bytes from which bytes [start, end) of a changed text come. `alignments` is null for an
// unchanged text.
Range original(size_t base, const Alignment* alignments, size_t start, size_t end) {
    if (start == end) return {base, base};
    if (alignments == nullptr) return {base + start, base + end};
    return {base + alignments[start].start, base + alignments[end - 1].end};
}

void check_size(Bytes text) {
    if (text.size >= kNoId) throw Error(ErrorKind::argument, "a text of 4 GiB or more cannot be traced");
}

class PartTracer {
  public:
    PartTracer(const Engine& engine, Scratch& scratch) : p_(engine.impl()), s_(scratch) {}

    std::vector<TracedPart> text(Bytes text, bool special_as_text, bool joins) {
        const auto on_added = [&](uint32_t id, Bytes bytes, const Origin& place) {
            const Range range = original(place.base, place.alignments, 0, bytes.size);
            out_.push_back({id, range.start, range.end, std::string(bytes.view()), std::string(bytes.view()), {}, {}});
        };
        walk_text(p_, text, special_as_text, true, s_, on_added, [&](Bytes piece, const Origin& place) {
            const Range range = original(place.base, place.alignments, 0, piece.size);
            out_.push_back({std::nullopt, range.start, range.end, std::string(piece.view()), {}, {}, {}});
            if (p_.pipeline.scan != nullptr) return scanned(piece, place);
            const PieceList& list = cut_text(p_, piece, place, true, s_);
            out_.back().text = list.text.text;
            for (const Piece& part : list.pieces)
                add(part.start, part.end, original(list.base, list.text.alignments.data(), part.start, part.end));
        });
        for (TracedPart& part : out_)
            for (const TracePiece& piece : part.pieces) add_run(piece, joins, &part.runs);
        return std::move(out_);
    }

    std::vector<TracedPart> raw(Bytes data) {
        if (!p_.on_bytes())
            throw Error(ErrorKind::unsupported, "this vocabulary is over text, not bytes: some bytes have no token");
        if (data.empty()) return {};
        out_.push_back({std::nullopt, 0, data.size, std::string(data.view()), std::string(data.view()), {}, {}});
        out_.back().runs.push_back({0, uint32_t(data.size)});
        if (p_.pipeline.scan != nullptr) {
            scan(data, [](size_t start, size_t end) { return Range{start, end}; });
            return std::move(out_);
        }
        for (size_t start = 0; start < data.size;) {
            const size_t end = start + utf8_error(data.data + start, data.size - start);
            if (end > start) valid(data.slice(start, end), start);
            if (end < data.size) add(end, end + 1, {end, end + 1});
            start = end + 1;
        }
        return std::move(out_);
    }

  private:
    static void add_run(const TracePiece& piece, bool joins, std::vector<Piece>* runs) {
        if (joins && !runs->empty() && runs->back().end == piece.start)
            runs->back().end = uint32_t(piece.end);
        else
            runs->push_back({uint32_t(piece.start), uint32_t(piece.end)});
    }

    void add(size_t start, size_t end, Range range) {
        out_.back().pieces.push_back({start, end, range.start, range.end});
    }

    template <typename Original>
    void scan(Bytes text, Original&& original_of) {
        size_t ends[WordIds::kBlock];
        for (size_t start = 0; start < text.size;) {
            const size_t n = p_.pipeline.scan(text.data, text.size, start, ends, WordIds::kBlock);
            for (size_t i = 0; i < n; start = ends[i++]) add(start, ends[i], original_of(start, ends[i]));
        }
    }

    void scanned(Bytes piece, const Origin& place) {
        const Bytes text = prefixed(p_, piece, s_);
        const size_t inserted = text.size - piece.size;
        out_.back().text = text.view();
        scan(text, [&](size_t start, size_t end) {
            return original(place.base, place.alignments, start < inserted ? 0 : start - inserted, end - inserted);
        });
    }

    // Adds a run of valid UTF-8 inside raw bytes. Cuts it by the pre-tokenizer, unless that would drop some of the
    // bytes.
    void valid(Bytes text, size_t base) {
        const PieceList& list = cut_text(p_, text, Origin(), false, s_);
        if (!keeps_all(list, text)) return add(base, base + text.size, {base, base + text.size});
        for (const Piece& piece : list.pieces)
            add(base + piece.start, base + piece.end, {base + piece.start, base + piece.end});
    }

    const Engine::Impl& p_;
    Scratch& s_;
    std::vector<TracedPart> out_;
};

}  // namespace

std::vector<TracedPart> trace_parts(const Engine& engine, Bytes text, bool special_as_text) {
    check_exact(engine);
    check_size(text);
    const Engine::Lease lease(engine);
    const bool joins = engine.greedy()->impl().pipeline.joins_pieces;
    return PartTracer(engine, *lease).text(text, special_as_text, joins);
}

std::vector<TracedPart> trace_raw_parts(const Engine& engine, Bytes data) {
    check_exact(engine);
    check_size(data);
    const Engine::Lease lease(engine);
    return PartTracer(engine, *lease).raw(data);
}

}  // namespace crayon
