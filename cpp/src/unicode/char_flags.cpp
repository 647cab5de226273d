#include "unicode/char_flags.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace crayon {

#include "unicode/pre_tokenizer_classes.inc"

void ScriptFinder::find(uint32_t code_point) {
    const uint32_t* const end = std::end(kScriptRuns);
    // The first run that starts after the code point; the run before contains the code point.
    const uint32_t* next = std::upper_bound(std::begin(kScriptRuns), end, code_point << 8 | 0xFF);
    first_ = next[-1] >> 8;
    end_ = next == end ? 0x110000 : *next >> 8;
    script_ = uint8_t(next[-1] & 0xFF);
}

const uint8_t* ascii_scripts() {
    static const std::array<uint8_t, 128> scripts = [] {
        std::array<uint8_t, 128> table{};
        ScriptFinder script_of;
        for (uint32_t c = 0; c < 128; ++c) table[c] = script_of(c);
        return table;
    }();
    return scripts.data();
}

}  // namespace crayon
