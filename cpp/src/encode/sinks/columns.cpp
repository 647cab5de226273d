#include "crayon/encode/sinks/columns.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "crayon/encode/run/thread_count.h"
#include "encode/plan/make_tasks.h"
#include "engine/engine_impl.h"
#include "engine/leased_tasks.h"

namespace crayon {
namespace {

// Shortens the last `size` ids to `kept`, by dropping ids at `side`.
void keep(IdBuffer* ids, size_t size, size_t kept, Side side) {
    if (kept == size) return;
    int32_t* const begin = ids->end() - size;
    if (side == Side::left) std::memmove(begin, begin + (size - kept), kept * sizeof *begin);
    ids->shrink_by(size - kept);
}

// Encodes the rows of one task, one after the other.
class RowEncoder {
  public:
    RowEncoder(const Engine& engine, const Surround& around, const EncodeOptions& options, bool is_pair)
        : engine_(engine),
          around_(around),
          options_(options),
          most_(options.truncation ? engine.tokens_left(is_pair, options) : SIZE_MAX) {}

    // Returns false if truncation fails. `first_size` gets the number of tokens of the first sequence.
    bool encode(Bytes first, const Bytes* second, Scratch& scratch, IdBuffer* out, uint32_t* first_size) {
        append_ids(around_.before, out);
        is_cut_ = false;
        size_t n_first = encode_kept(first, scratch, out), n_second = 0;
        if (second != nullptr) {
            pair_ids_.clear();
            n_second = encode_kept(*second, scratch, &pair_ids_);
            // If the limit is odd, the longer sequence gets the odd token, so both lengths must be known.
            if (is_cut_ && options_.truncation->strategy == Truncation::Strategy::longest_first && n_first > most_ &&
                n_second > most_ && most_ % 2 != 0) {
                out->shrink_by(n_first);
                pair_ids_.clear();
                n_first = encode_all(first, scratch, out);
                n_second = encode_all(*second, scratch, &pair_ids_);
            }
        }
        if (!truncate(&n_first, second != nullptr ? &n_second : nullptr, out)) return false;
        if (second != nullptr) {
            append_ids(around_.between, out);
            out->append(pair_ids_.data(), pair_ids_.size());
        }
        append_ids(around_.after, out);
        *first_size = uint32_t(n_first);
        return true;
    }

    size_t encoded_bytes() const { return encoded_bytes_; }

  private:
    bool truncate(size_t* n_first, size_t* n_second, IdBuffer* out) {
        if (!options_.truncation) return true;
        const size_t all_first = *n_first;
        if (!truncate_sizes(*options_.truncation, most_, n_first, n_second)) return false;
        keep(out, all_first, *n_first, options_.truncation->side);
        if (n_second != nullptr) keep(&pair_ids_, pair_ids_.size(), *n_second, options_.truncation->side);
        return true;
    }

    size_t encode_all(Bytes text, Scratch& scratch, IdBuffer* out) {
        return encode_part(text, 0, text.size, scratch, out);
    }
    size_t encode_part(Bytes text, size_t from, size_t to, Scratch& scratch, IdBuffer* out) {
        const size_t before = out->size();
        engine_.encode_inner_ids(text.slice(from, to), options_.special_as_text, scratch, out, from > 0);
        encoded_bytes_ += to - from;
        return out->size() - before;
    }

    // Appends the ids of a text or of a part of it, and returns their number. A part is the start of the text (its end,
    // if truncation drops the left side), and has more ids than truncation leaves. Truncation then gives the same
    // result as for the whole text, except in the case of longest_first above.
    size_t encode_kept(Bytes text, Scratch& scratch, IdBuffer* out) {
        size_t size = options_.truncation ? engine_.impl().first_part(text, most_) : 0;
        if (size == 0) return encode_all(text, scratch, out);
        const Seams& seams = engine_.seams(options_.special_as_text);
        if (options_.truncation->side == Side::right) {
            const size_t before = out->size();
            is_cut_ |= encode_head(seams, text, size, most_,
                                   [&](size_t from, size_t to) { return encode_part(text, from, to, scratch, out); });
            return out->size() - before;
        }
        for (SeamFinder finder(seams, text); size <= text.size / 2; size *= 4) {
            const size_t from = finder.previous(0, text.size - size);
            if (from == 0) continue;
            const size_t n = encode_part(text, from, text.size, scratch, out);
            is_cut_ |= n > most_;
            if (n > most_) return n;
            out->shrink_by(n);
        }
        return encode_all(text, scratch, out);
    }

    const Engine& engine_;
    const Surround& around_;
    const EncodeOptions& options_;
    const size_t most_;  // the most ids that truncation leaves of all sequences together
    IdBuffer pair_ids_;
    bool is_cut_ = false;  // only a part of a text was encoded
    size_t encoded_bytes_ = 0;
};

// Writes a row without padding.
template <typename T>
void write_row(const Surround& around, Column column, const IdBuffer& ids, size_t start, size_t n, size_t n_first,
               T* out) {
    if (column == Column::input_ids) {
        std::copy_n(ids.data() + start, n, out);
        return;
    }
    if (column == Column::attention_mask) {
        std::fill_n(out, n, T(1));
        return;
    }
    const bool types = column == Column::token_type_ids;
    const auto specials = [&](const std::vector<SpecialId>& list) {
        for (const SpecialId& special : list) *out++ = types ? T(special.type_id) : T(1);
    };
    const auto sequence = [&](size_t size, int index) {
        out = std::fill_n(out, size, types ? T(around.type_ids[index]) : T(0));
    };
    specials(around.before);
    sequence(n_first, 0);
    specials(around.between);
    sequence(n - around.size() - n_first, 1);
    specials(around.after);
}

}  // namespace

std::optional<Columns> encode_columns(const Engine& engine, const std::vector<Bytes>& first,
                                      const std::vector<Bytes>* second, const EncodeOptions& options, size_t threads) {
    if (options.truncation && options.truncation->stride != 0) return std::nullopt;
    const bool is_pair = second != nullptr;
    const Surround* const around = engine.surround(is_pair, options.add_special_tokens);
    if (around == nullptr) return std::nullopt;
    const size_t n = first.size();
    Columns out;
    out.around_ = around;
    out.splits_.assign(n + 1, 0);
    out.first_sizes_.assign(n, 0);
    const auto tasks = make_tasks(n, [&](size_t i) { return first[i].size + (is_pair ? (*second)[i].size : 0); });
    std::vector<IdBuffer> parts(tasks.size());
    std::atomic<bool> failed{false};
    std::atomic<size_t> encoded_bytes{0};
    size_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes += first[i].size + (is_pair ? (*second)[i].size : 0);
    run_tasks(engine, tasks.size(), thread_count(threads, bytes), [&](size_t t, Scratch& scratch) {
        RowEncoder encoder(engine, *around, options, is_pair);
        for (size_t i = tasks[t].begin; i < tasks[t].end && !failed; ++i) {
            if (!encoder.encode(first[i], is_pair ? &(*second)[i] : nullptr, scratch, &parts[t], &out.first_sizes_[i]))
                failed = true;
            out.splits_[i + 1] = int64_t(parts[t].size());
        }
        encoded_bytes += encoder.encoded_bytes();
    });
    if (failed) return std::nullopt;
    out.encoded_bytes_ = encoded_bytes;
    join_parts(tasks, &parts, &out.ids_, &out.splits_);
    out.pad(options.padding);
    return out;
}

void Columns::pad(const std::optional<Padding>& padding) {
    if (!padding || rows() == 0) return;
    size_t longest = 0;
    for (size_t row = 0; row < rows(); ++row) longest = std::max(longest, size(row));
    padded_ = padded_length(longest, *padding);
    pads_left_ = padding->side == Side::left;
    pad_id_ = uint32_t(padding->pad_id);
    pad_type_id_ = padding->pad_type_id;
}

bool Columns::is_rectangular() const {
    for (size_t row = 1; row < rows(); ++row)
        if (row_size(row) != row_size(0)) return false;
    return true;
}

template <typename T>
void Columns::write(Column column, size_t row, T* out) const {
    const size_t n = size(row), pads = row_size(row) - n;
    const T pad = column == Column::input_ids             ? T(pad_id_)
                  : column == Column::token_type_ids      ? T(pad_type_id_)
                  : column == Column::special_tokens_mask ? T(1)
                                                          : T(0);
    std::fill_n(pads_left_ ? out : out + n, pads, pad);
    write_row(*around_, column, ids_, size_t(splits_[row]), n, first_sizes_[row], pads_left_ ? out + pads : out);
}

template void Columns::write(Column column, size_t row, int32_t* out) const;
template void Columns::write(Column column, size_t row, int64_t* out) const;

std::optional<Row> encode_row(const Engine& engine, Bytes text, const EncodeOptions& options) {
    Row row;
    row.around_ = engine.surround(false, options.add_special_tokens);
    if (row.around_ == nullptr) return std::nullopt;
    const Engine::Lease lease(engine);
    engine.encode_ids(text, options, *lease, &row.ids_);
    return row;
}

void Row::write(Column column, int32_t* out) const {
    write_row(*around_, column, ids_, 0, size(), size() - around_->size(), out);
}

}  // namespace crayon
