// Compares the conversions to and from UTF-8 on every instruction set that this machine can run with a plain loop over
// the code points. Compares errors of UTF-8 and strings of JSON with those of the scalar kernels.
//
//     utf8_check [TEXTS]
//
// TEXTS texts of each width. test_utf8.py does the same from Python; this program also runs on another machine or
// under an emulator. Prints the compared levels; the exit status is 1 if any differ.
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "checks.h"
#include "crayon/simd/kernels.h"
#include "crayon/texts/text_view.h"
#include "crayon/unicode/unicode.h"
#include "simd/json_line.h"
#include "unicode/utf8_chars.h"
#include "unicode/utf8_shape.h"

namespace crayon {
namespace {

constexpr uint32_t kLimits[] = {0x80, 0x100, 0x800, 0x10000, 0x110000};

bool is_unicode(uint32_t c) {
    return c < 0x110000 && c - 0xD800 >= 0x800;
}

size_t differences = 0;

template <typename Unit>
void compare(const std::vector<Unit>& units) {
    const TextView view{units.data(), units.size(), sizeof(Unit)};
    std::string expected;
    bool is_text = true;
    for (const Unit c : units) {
        is_text = is_text && is_unicode(c);
        if (is_text) append_utf8(c, &expected);
    }
    for (const CpuLevel level : available_cpu_levels()) {
        setenv("CRAYON_CPU", cpu_level_name(level), 1);
        bool is_same = !is_text;
        try {
            const std::string behind(64, '\xFF');
            std::string memory = std::string(expected.size(), '\0') + behind;
            if (is_text) write_utf8(view, 0, view.size, reinterpret_cast<uint8_t*>(memory.data()));
            Utf8Reader reader;
            const std::string read(reader.read(view, 0, view.size).view());
            is_same = is_text && read == expected && memory == expected + behind &&
                      utf8_size(view, 0, view.size) == expected.size();
            const UnitWriters& by = selected_kernels().unit_writers;
            if (by.ucs1 != nullptr) {
                std::vector<Unit> written(units.size());
                by.write(Bytes(expected), units.size(), written.data());
                is_same = is_same && written == units && utf8_shape(Bytes(expected)).characters == units.size();
            }
        } catch (const NotUnicode&) {
        }
        if (!is_same && differences++ < 5)
            std::printf("DIFFERENT: %s, %zu units of %zu bytes\n", cpu_level_name(level), units.size(), sizeof(Unit));
    }
    unsetenv("CRAYON_CPU");
}

// The string of a line of JSON, or "unsure".
std::string string_of(const Kernels& kernels, const std::string& line) {
    const Bytes text(line), column(std::string_view("t"));
    std::vector<uint8_t> room(line.size() + JsonLine::kRoom);
    JsonString found;
    JsonLine json{text.begin(), text.end(), &column, 1, &found, room.data(), true};
    if (!kernels.read_json_line(&json)) return "unsure";
    std::string string(found.begin, found.plain_end);
    return string.append(reinterpret_cast<const char*>(found.rest), found.rest_size);
}

// Damages the text once, and escapes it in places.
void compare_bytes(std::string text, std::mt19937_64& random) {
    std::string line = "{\"t\":\"" + text + "\",\"other\":\"" + text + "\"}";
    if (!text.empty() && random() % 4 != 0) text[random() % text.size()] = char(random());
    for (size_t n = random() % 4; n != 0; --n) {
        const char* const pieces[] = {"\\n", "\\u00e9", "\\ud83d\\ude00", "\"", "\n", "\\"};
        line.insert(random() % line.size(), pieces[random() % std::size(pieces)]);
    }
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    for (const CpuLevel level : available_cpu_levels()) {
        const Kernels& kernels = kernels_of(level);
        if (kernels.utf8_error(bytes, text.size()) == utf8_error(bytes, text.size()) &&
            string_of(kernels, line) == string_of(kScalarKernels, line))
            continue;
        if (differences++ < 5) std::printf("DIFFERENT: %s, %zu bytes\n", cpu_level_name(level), text.size());
    }
}

// Runs of code points below one of the limits, some of them just below or from the limit on.
template <typename Unit>
void compare_texts(size_t texts, uint32_t limit, std::mt19937_64& random) {
    const auto below = [&](uint64_t n) { return size_t(random() % n); };
    for (size_t i = 0; i < texts; ++i) {
        std::vector<Unit> units;
        const bool is_text = below(4) != 0;
        for (size_t parts = below(9); parts != 0; --parts) {
            const uint32_t last = kLimits[below(std::size(kLimits))];
            for (size_t n = below(90); n != 0; --n) {
                const uint32_t c = below(8) != 0 ? uint32_t(below(last)) : last - 2 + uint32_t(below(4));
                if (c < limit && (!is_text || is_unicode(c))) units.push_back(Unit(c));
            }
        }
        if (!is_text && !units.empty() && limit > 0xFFFF) units[below(units.size())] = Unit(0x110000 + below(9));
        compare(units);
        std::string text;
        for (const Unit c : units)
            if (is_unicode(c)) append_utf8(c, &text);
        compare_bytes(text, random);
    }
}

int run(int argc, char** argv) {
    const size_t texts = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    std::mt19937_64 random(1);
    compare_texts<uint8_t>(texts, 0x100, random);
    compare_texts<uint16_t>(texts, 0x10000, random);
    compare_texts<uint32_t>(texts, 0x110000, random);
    return report(differences);
}

}  // namespace
}  // namespace crayon

int main(int argc, char** argv) {
    return crayon::run(argc, argv);
}
