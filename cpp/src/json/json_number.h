// Reads numbers as serde_json does without its float_roundtrip feature, because Hugging Face tokenizers reads a
// tokenizer.json in this way. The first digits that fit 64 bits are scaled by one power of ten. For one in four numbers
// of 17 digits this is not the nearest double, and the last bits of a Unigram model's scores decide between pieces.
#pragma once

namespace crayon::json {

// Reads the number [begin, end), which must have the grammar of RFC 8259. Returns false if serde_json finds it out of
// range.
bool read_serde_number(const char* begin, const char* end, double* out);

// Reads a number of this grammar as the nearest double. Returns false if it is out of range.
bool read_nearest_number(const char* begin, const char* end, double* out);

}  // namespace crayon::json
