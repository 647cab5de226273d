// Compares the conversions to and from UTF-8 on every instruction set that this machine can run with a plain loop over
// the code points.
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
#include "crayon/support/cpu.h"
#include "crayon/unicode/text_view.h"
#include "unicode/unit_writers.h"
#include "unicode/utf8_chars.h"

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
            if (const UnitWriters* const by = best_unit_writers()) {
                std::vector<Unit> written(units.size());
                by->write(Bytes(expected), units.size(), written.data());
                is_same = is_same && written == units && utf8_shape(Bytes(expected)).characters == units.size();
            }
        } catch (const NotUnicode&) {
        }
        if (!is_same && differences++ < 5)
            std::printf("DIFFERENT: %s, %zu units of %zu bytes\n", cpu_level_name(level), units.size(), sizeof(Unit));
    }
    unsetenv("CRAYON_CPU");
}

// Runs of code points below one of the limits, some of them just below or from the limit on.
template <typename Unit>
void compare_texts(size_t texts, uint32_t limit, std::mt19937_64& random) {
    const auto below = [&](uint64_t n) { return size_t(random() % n); };
    for (size_t i = 0; i < texts; ++i) {
        std::vector<Unit> units;
        const bool is_text = below(4) != 0;
        for (size_t stretches = below(9); stretches != 0; --stretches) {
            const uint32_t last = kLimits[below(std::size(kLimits))];
            for (size_t n = below(90); n != 0; --n) {
                const uint32_t c = below(8) != 0 ? uint32_t(below(last)) : last - 2 + uint32_t(below(4));
                if (c < limit && (!is_text || is_unicode(c))) units.push_back(Unit(c));
            }
        }
        if (!is_text && !units.empty() && limit > 0xFFFF) units[below(units.size())] = Unit(0x110000 + below(9));
        compare(units);
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
