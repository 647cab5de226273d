// Batches as the columns that a model takes (input_ids, attention_mask, ...), without an Encoding per text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "crayon/engine/engine.h"

namespace crayon {

enum class Column { input_ids, token_type_ids, attention_mask, special_tokens_mask };

// The ids of a batch, truncated and with special tokens. Padding is added when a row is written.
class Columns {
  public:
    size_t rows() const { return splits_.size() - 1; }
    // The number of values in a row, padding included.
    size_t row_size(size_t row) const { return padded_ > size(row) ? padded_ : size(row); }
    // Whether all rows have the same size.
    bool is_rectangular() const;
    // The number of bytes of text that were encoded. With truncation, a large text is encoded only as far as its kept
    // ids need.
    size_t encoded_bytes() const { return encoded_bytes_; }
    // Writes row_size(row) values.
    template <typename T>
    void write(Column column, size_t row, T* out) const;

  private:
    friend std::optional<Columns> encode_columns(const Engine&, const std::vector<Bytes>&, const std::vector<Bytes>*,
                                                 const EncodeOptions&, size_t);
    size_t size(size_t row) const { return size_t(splits_[row + 1] - splits_[row]); }
    void pad(const std::optional<Padding>& padding);

    IdBuffer ids_;
    std::vector<int64_t> splits_{0};
    std::vector<uint32_t> first_sizes_;  // for pairs: each row's number of tokens of the first sequence
    const Surround* around_ = nullptr;   // the engine owns it
    size_t padded_ = 0;
    bool pads_left_ = false;
    uint32_t pad_id_ = 0;
    uint32_t pad_type_id_ = 0;
    size_t encoded_bytes_ = 0;
};

// `second` is null, or has one text for each of `first`. Returns nothing if only Encodings give the right result: if
// the post-processor does more than surround sequences (surround.h), or if truncation fails or has a stride. The
// columns must not outlive the engine.
std::optional<Columns> encode_columns(const Engine& engine, const std::vector<Bytes>& first,
                                      const std::vector<Bytes>* second, const EncodeOptions& options, size_t threads);

// The row of one text, without truncation and padding: the fastest path.
class Row {
  public:
    size_t size() const { return ids_.size(); }
    const int32_t* ids() const { return ids_.data(); }
    // Writes size() values.
    void write(Column column, int32_t* out) const;

  private:
    friend std::optional<Row> encode_row(const Engine&, Bytes, const EncodeOptions&);
    IdBuffer ids_;
    const Surround* around_ = nullptr;  // the engine owns it
};

// Returns nothing if the post-processor does more than surround the text. The row must not outlive the engine.
std::optional<Row> encode_row(const Engine& engine, Bytes text, const EncodeOptions& options);

}  // namespace crayon
