#include "crayon/batch/columns.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "batch/task_runner.h"
#include "crayon/batch/batch.h"
#include "engine/seams.h"

namespace crayon {
namespace {

// Shortens the lengths of both sequences as tokenizers' truncate_encodings does. Returns false where that
// function fails. `second` is null for a single sequence.
bool truncate_sizes(const Truncation& truncation, size_t added, size_t* first, size_t* second) {
    if (added > truncation.max_length) return false;
    const size_t most = truncation.max_length - added;
    const size_t total = *first + (second ? *second : 0);
    if (most == 0) {
        *first = 0;
        if (second) *second = 0;
        return true;
    }
    if (total <= most) return true;
    const size_t excess = total - most;
    if (truncation.strategy != Truncation::Strategy::longest_first) {
        size_t* target = truncation.strategy == Truncation::Strategy::only_first ? first : second;
        if (target == nullptr || *target <= excess) return false;
        *target -= excess;
        return true;
    }
    if (second == nullptr) {
        *first = most;
        return true;
    }
    size_t shorter = std::min(*first, *second), longer;
    longer = shorter > most ? shorter : std::max(shorter, most - shorter);
    if (shorter + longer > most) {
        shorter = most / 2;
        longer = shorter + most % 2;
    }
    const bool first_is_longer = *first > *second;
    *first = first_is_longer ? longer : shorter;
    *second = first_is_longer ? shorter : longer;
    return true;
}

// Keeps `kept` of the last `size` ids.
void keep(IdBuffer* ids, size_t size, size_t kept, Side side) {
    if (kept == size) return;
    int32_t* const begin = ids->end() - size;
    if (side == Side::left) std::memmove(begin, begin + (size - kept), kept * sizeof *begin);
    ids->shrink_by(size - kept);
}

// Encodes the rows of one task, one after the other.
class RowEncoder {
  public:
    RowEncoder(const Engine& engine, const PairFrame& frame, const EncodeOptions& options, bool is_pair)
        : engine_(engine), frame_(frame), options_(options), is_pair_(is_pair) {
        added_ = frame.before.size() + frame.after.size() + (is_pair ? frame.between.size() : 0);
    }

    // Returns false if truncation fails. `first_size` gets the number of tokens of the first sequence.
    bool encode(Bytes first, const Bytes* second, Scratch& scratch, IdBuffer* out, uint32_t* first_size) {
        append_ids(frame_.before, out);
        is_cut_ = false;
        size_t n_first = encode_kept(first, scratch, out), n_second = 0;
        if (second != nullptr) {
            pair_ids_.clear();
            n_second = encode_kept(*second, scratch, &pair_ids_);
            // The longer sequence gets an odd token, so both must be encoded whole.
            if (is_cut_ && options_.truncation->strategy == Truncation::Strategy::longest_first && n_first > most() &&
                n_second > most() && most() % 2 != 0) {
                out->shrink_by(n_first);
                pair_ids_.clear();
                n_first = encode_all(first, scratch, out);
                n_second = encode_all(*second, scratch, &pair_ids_);
            }
        }
        const size_t all_first = n_first, all_second = n_second;
        if (options_.truncation) {
            if (!truncate_sizes(*options_.truncation, added_, &n_first, is_pair_ ? &n_second : nullptr)) return false;
            keep(out, all_first, n_first, options_.truncation->side);
        }
        if (second != nullptr) {
            append_ids(frame_.between, out);
            if (options_.truncation) keep(&pair_ids_, all_second, n_second, options_.truncation->side);
            out->append(pair_ids_.data(), pair_ids_.size());
        }
        append_ids(frame_.after, out);
        *first_size = uint32_t(n_first);
        return true;
    }

    size_t encoded_bytes() const { return encoded_bytes_; }

  private:
    // The most ids that truncation leaves of all sequences together.
    size_t most() const {
        const size_t length = options_.truncation->max_length;
        return length > added_ ? length - added_ : 0;
    }

    size_t encode_all(Bytes text, Scratch& scratch, IdBuffer* out) {
        const size_t before = out->size();
        encode_part(text, 0, text.size, scratch, out);
        return out->size() - before;
    }
    void encode_part(Bytes text, size_t from, size_t to, Scratch& scratch, IdBuffer* out) {
        engine_.encode_inner_ids(text.slice(from, to), options_.special_as_text, scratch, out, from > 0);
        encoded_bytes_ += to - from;
    }

    // Appends the ids of a text or of a part of it, and returns their number. A part starts, or ends, where the text
    // does, and has more ids than truncation leaves. Truncation then gives the same result, because the length of the
    // remaining text does not matter to truncation, except in the case of longest_first above.
    size_t encode_kept(Bytes text, Scratch& scratch, IdBuffer* out) {
        if (!options_.truncation) return encode_all(text, scratch, out);
        size_t step = std::max(size_t(1) << 12, 8 * std::min(most(), text.size));
        if (text.size / 4 < step || !engine_.impl().takes_any_text) return encode_all(text, scratch, out);
        const Seams& seams = engine_.seams(options_.special_as_text);
        if (!seams.exist()) return encode_all(text, scratch, out);
        const size_t before = out->size();
        const auto is_enough = [&] {
            is_cut_ |= out->size() - before > most();
            return out->size() - before > most();
        };
        if (options_.truncation->side == Side::left) {
            for (; step < text.size / 2; step *= 4) {
                const size_t from = seams.before(text, 0, text.size - step);
                if (from == 0) continue;
                encode_part(text, from, text.size, scratch, out);
                if (is_enough()) return out->size() - before;
                out->shrink_by(out->size() - before);
            }
            return encode_all(text, scratch, out);
        }
        size_t from = 0;
        while (text.size - from > 2 * step) {
            const size_t to = seams.before(text, from, from + step);
            step *= 2;
            if (to == from) continue;
            encode_part(text, from, to, scratch, out);
            if (is_enough()) return out->size() - before;
            from = to;
        }
        encode_part(text, from, text.size, scratch, out);
        return out->size() - before;
    }

    const Engine& engine_;
    const PairFrame& frame_;
    const EncodeOptions& options_;
    bool is_pair_;
    size_t added_;
    IdBuffer pair_ids_;
    bool is_cut_ = false;  // only a part of a text was encoded
    size_t encoded_bytes_ = 0;
};

// Returns the frame that the options ask for, or nothing if the post-processor is not a frame.
std::optional<PairFrame> choose_frame(const Engine& engine, bool is_pair, bool add_special_tokens) {
    PairFrame out;
    if (is_pair) {
        if (engine.pair_frame() == nullptr) return std::nullopt;
        out = *engine.pair_frame();
    } else {
        const SingleFrame* single = engine.single_frame();
        if (single == nullptr) return std::nullopt;
        out.before = single->before;
        out.after = single->after;
        out.type_ids[0] = single->type_id;
        out.bare_type_ids[0] = single->bare_type_id;
    }
    if (!add_special_tokens) {
        out.before.clear();
        out.between.clear();
        out.after.clear();
        std::copy(std::begin(out.bare_type_ids), std::end(out.bare_type_ids), std::begin(out.type_ids));
    }
    return out;
}

}  // namespace

std::optional<Columns> encode_columns(const Engine& engine, const std::vector<Bytes>& first,
                                      const std::vector<Bytes>* second, const EncodeOptions& options, size_t threads) {
    if (options.truncation && options.truncation->stride != 0) return std::nullopt;
    const bool is_pair = second != nullptr;
    const std::optional<PairFrame> frame = choose_frame(engine, is_pair, options.add_special_tokens);
    if (!frame) return std::nullopt;
    const size_t n = first.size();
    Columns out;
    out.frame_ = *frame;
    out.is_pair_ = is_pair;
    out.splits_.assign(n + 1, 0);
    out.first_sizes_.assign(n, 0);
    const auto tasks = make_tasks(n, [&](size_t i) { return first[i].size + (is_pair ? (*second)[i].size : 0); });
    std::vector<IdBuffer> parts(tasks.size());
    std::atomic<bool> failed{false};
    std::atomic<size_t> encoded_bytes{0};
    size_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes += first[i].size + (is_pair ? (*second)[i].size : 0);
    run_tasks(engine, tasks.size(), thread_count(threads, bytes), [&](size_t t, Scratch& scratch) {
        RowEncoder encoder(engine, *frame, options, is_pair);
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
    T* const tokens = pads_left_ ? out + pads : out;
    std::fill_n(pads_left_ ? out : out + n, pads, pad);
    if (column == Column::input_ids) {
        std::copy_n(ids_.data() + splits_[row], n, tokens);
    } else if (column == Column::attention_mask) {
        std::fill_n(tokens, n, T(1));
    } else {
        const bool types = column == Column::token_type_ids;
        T* at = tokens;
        const auto specials = [&](const std::vector<SpecialId>& list) {
            for (const SpecialId& special : list) *at++ = types ? T(special.type_id) : T(1);
        };
        const auto sequence = [&](size_t size, int index) {
            at = std::fill_n(at, size, types ? T(frame_.type_ids[index]) : T(0));
        };
        specials(frame_.before);
        sequence(first_sizes_[row], 0);
        if (is_pair_) {
            specials(frame_.between);
            sequence(n - frame_.before.size() - frame_.between.size() - frame_.after.size() - first_sizes_[row], 1);
        }
        specials(frame_.after);
    }
}

template void Columns::write(Column column, size_t row, int32_t* out) const;
template void Columns::write(Column column, size_t row, int64_t* out) const;

std::optional<Row> encode_row(const Engine& engine, Bytes text, const EncodeOptions& options) {
    Row row;
    row.frame_ = engine.single_frame();
    row.is_framed_ = options.add_special_tokens;
    if (row.frame_ == nullptr) return std::nullopt;
    const Engine::Lease lease(engine);
    engine.encode_ids(text, options, *lease, &row.ids_);
    return row;
}

void Row::write(Column column, int32_t* out) const {
    if (column == Column::input_ids) {
        std::copy_n(ids_.data(), ids_.size(), out);
        return;
    }
    if (column == Column::attention_mask) {
        std::fill_n(out, ids_.size(), 1);
        return;
    }
    const bool types = column == Column::token_type_ids;
    const uint32_t type = is_framed_ ? frame_->type_id : frame_->bare_type_id;
    std::fill_n(out, ids_.size(), types ? int32_t(type) : 0);
    if (!is_framed_) return;
    for (const SpecialId& special : frame_->before) *out++ = types ? int32_t(special.type_id) : 1;
    out += ids_.size() - frame_->before.size() - frame_->after.size();
    for (const SpecialId& special : frame_->after) *out++ = types ? int32_t(special.type_id) : 1;
}

}  // namespace crayon
