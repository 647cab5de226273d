// Numbers as serde_json reads them without its float_roundtrip feature, which is how the reference reads a
// tokenizer.json: the first digits that fit 64 bits, scaled by one power of ten. In one number of four with 17 digits
// this is not the nearest double, and the scores of a Unigram model decide between pieces by their last bits.
#pragma once

namespace crayon::json {

// The value of [begin, end), which has the grammar of RFC 8259; false when serde_json finds it out of range.
bool read_serde_number(const char* begin, const char* end, double* out);

// The double nearest to it.
bool read_nearest_number(const char* begin, const char* end, double* out);

}  // namespace crayon::json
