// The character sets of the pre-tokenizers in Hugging Face tokenizers. Each set has a Unicode version of its own
// (tools/unicode/).
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {

enum CharFlag : uint8_t {
    kWhite = 0x01,        // white space of WhitespaceSplit and BertPreTokenizer
    kPunctuation = 0x02,  // of Punctuation and BertPreTokenizer
    kNumeric = 0x04,      // of Digits
    kWord = 0x08,         // \w of Whitespace
    kSpace = 0x10,        // \s of Whitespace
};

// kFlagIndex has the number of the block for each 128 code points, kFlagBlocks the flags of each block. Block 0 is
// ASCII.
extern const uint8_t kFlagIndex[8704];
extern const uint8_t kFlagBlocks[220][128];

inline uint8_t char_flags(uint32_t code_point) {
    return kFlagBlocks[kFlagIndex[code_point >> 7]][code_point & 127];
}

// The scripts of the code points below 0x80, as ScriptFinder returns them.
const uint8_t* ascii_scripts();

// Looks up the script that UnicodeScripts sees. Remembers the last run of code points, because neighbours share one.
class ScriptFinder {
  public:
    static constexpr uint8_t kAny = 0;
    uint8_t operator()(uint32_t code_point) {
        if (code_point < first_ || code_point >= end_) find(code_point);
        return script_;
    }

  private:
    void find(uint32_t code_point);
    uint32_t first_ = 0, end_ = 0;
    uint8_t script_ = kAny;
};

}  // namespace crayon
