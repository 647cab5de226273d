// Truncation and padding of encodings, as in tokenizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "crayon/post/encoding.h"

namespace crayon {

enum class Side : uint32_t { left = 0, right = 1 };

struct Truncation {
    enum class Strategy : uint32_t { longest_first = 0, only_first = 1, only_second = 2 };
    size_t max_length = 512;
    size_t stride = 0;
    Strategy strategy = Strategy::longest_first;
    Side side = Side::right;
};

struct Padding {
    bool is_fixed = false;  // to `length`; else to the longest of the batch
    size_t length = 0;
    Side side = Side::right;
    size_t multiple_of = 0;  // 0: none
    int32_t pad_id = 0;
    uint32_t pad_type_id = 0;
    std::string pad_token = "[PAD]";
};

// Shortens the sizes of a sequence and of its pair, which may be null, as tokenizers' truncate_encodings does. `most`
// is Engine::tokens_left. Returns false where the reference raises.
bool truncate_sizes(const Truncation& truncation, size_t most, size_t* first, size_t* pair);

// truncate_encodings, before post-processing. `pair` may be null. Throws Error(argument) where the reference raises.
void truncate(Encoding* first, Encoding* pair, const Truncation& truncation, size_t most);

// tokenizers' Encoding::truncate and Encoding::pad, overflowing encodings included. Throws Error(argument) where the
// reference raises.
void truncate(Encoding* encoding, size_t max_length, size_t stride, Side side);
void pad(Encoding* encoding, size_t length, const Padding& padding);

// The number of tokens for each encoding of a batch, if the longest has `longest`. Throws Error(argument) above 2^32 -
// 1, where the reference runs out of memory.
size_t padded_length(size_t longest, const Padding& padding);

// tokenizers' pad_encodings: pads a whole batch as `padding` says.
void pad(std::vector<Encoding>* encodings, const Padding& padding);

}  // namespace crayon
