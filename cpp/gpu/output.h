// Writes the ids of the batch in order, and the start of each document's ids.
//
// Example: pretokens with 1, 2 and 1 ids have 0, 1 and 3 ids before them. Three threads write ids[0], ids[1..2] and
// ids[3]. With a special id in front of the document, all move up by 1.
#pragma once

#include "merges.h"

namespace crayon {
namespace gpu {

// Writes the ids. One block per tile of pretokens.
struct WriteIds {
    static constexpr uint32_t kThreads = 256, kEach = kTile / kThreads;
    struct Shared {
        Block<kThreads>::Sums sums;
        uint32_t document;
    };

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return CountTiles<IdCounts>::blocks(w); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        uint32_t before = w.id_tiles[block.index()];
        block.once([&] {
            shared.document = w.n_before + w.n_after > 0 ? document_of(w, w.starts[block.index() * kTile]) : 0;
        });
        // Lane i takes pretokens i, i + kThreads and so on, so that neighbouring lanes write neighbouring ids.
        for (uint32_t part = 0; part < kEach; ++part) {
            const uint32_t first = block.index() * kTile + part * kThreads;
            PerLane<uint32_t, kThreads> places;
            block.each([&](uint32_t lane) {
                places[lane] = first + lane < w.n_pretokens ? IdCounts::at(w, first + lane) : 0;
            });
            const uint32_t total = block.exclusive_sum(places, shared.sums);
            block.each([&](uint32_t lane) {
                const uint32_t i = first + lane;
                if (i >= w.n_pretokens) return;
                const uint32_t count = IdCounts::at(w, i), result = w.results[i], ids = before + places[lane];
                const size_t to = ids + specials_before(w, w.starts[i], shared.document);
                if (w.counts[i] & Count::kMerged) {
                    for (uint32_t k = 0; k < count; ++k) w.ids[to + k] = int32_t(w.merged[result + k]);
                } else if (count == 1) {
                    w.ids[to] = int32_t(result);
                } else {
                    const WordEntry& entry =
                        result & Count::kCached ? w.cache[result & ~Count::kCached] : w.tables.words[result];
                    for (uint32_t k = 0; k < count; ++k) w.ids[to + k] = int32_t(entry.ids[k]);
                }
                // From here on counts[i] is the number of ids before the pretoken.
                w.counts[i] = ids;
            });
            before += total;
        }
    }

  private:
    // Returns the number of special ids before a pretoken at `at`, whose document is `from` or a later one.
    CRAYON_DEVICE static size_t specials_before(const Work& w, uint32_t at, uint32_t from) {
        if (w.n_before + w.n_after == 0) return 0;
        uint32_t step = 1;
        while (from + step < w.n_documents && w.offsets[from + step] - w.offsets[0] <= at) {
            from += step;
            step *= 2;
        }
        for (; step > 0; step /= 2)
            if (from + step < w.n_documents && w.offsets[from + step] - w.offsets[0] <= at) from += step;
        return size_t(from) * (w.n_before + w.n_after) + w.n_before;
    }
};

// Writes the start of each document's ids, and the special ids around them. One thread per document, and one for the
// end.
struct WriteSplits {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return MarkDocuments::blocks(w); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t document = block.index() * kThreads + lane;
            if (document > w.n_documents) return;
            const uint32_t at = uint32_t(w.offsets[document] - w.offsets[0]);
            const size_t to = ids_before(w, at) + size_t(document) * (w.n_before + w.n_after);
            w.row_splits[document] = int64_t(to);
            if (document > 0)
                for (uint32_t k = 0; k < w.n_after; ++k) w.ids[to - w.n_after + k] = w.frame[w.n_before + k];
            if (document < w.n_documents)
                for (uint32_t k = 0; k < w.n_before; ++k) w.ids[to + k] = w.frame[k];
        });
    }

  private:
    // The number of ids before a document that begins at `at`, where a pretoken begins, too.
    CRAYON_DEVICE static uint32_t ids_before(const Work& w, uint32_t at) {
        if (at >= w.size) return w.totals->ids;
        return w.counts[last_not_beyond(w.n_pretokens, at, [&](uint32_t i) { return w.starts[i]; })];
    }
};

}  // namespace gpu
}  // namespace crayon
