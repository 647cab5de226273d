// Opens cartridges with valid checksums over wrong data: the input changes single elements of a compiled vocabulary. If
// Checks::whole passes, all paths must give the same ids. If only Checks::memory passes, use must be safe.
//
// Input: vocabulary, options, number of changes, the changes, then a text.
#include <optional>

#include "crayon/compiler/compiler.h"
#include "crayon/support/error.h"
#include "signed.h"
#include "support.h"

using namespace crayon;

namespace {

const std::vector<fuzz::Part>& parts_of(size_t vocabulary) {
    static std::vector<std::vector<fuzz::Part>> made(fuzz::vocabularies().size());
    std::vector<fuzz::Part>& parts = made[vocabulary];
    if (parts.empty()) {
        const std::string file = compile_tokenizer_json(fuzz::vocabularies()[vocabulary].json, CompileOptions());
        parts = fuzz::parts_of(Cartridge(own_bytes(file)));
    }
    return parts;
}

// Returns the index of an element by number: of all elements or, if `is_full`, of the nonempty ones.
size_t place_of(const std::string& bytes, size_t width, uint32_t number, bool is_full) {
    const size_t count = bytes.size() / width;
    if (count == 0) return 0;
    if (!is_full) return number % count;
    const auto is_empty = [&](size_t i) {
        const char first = bytes[i * width];
        if (first != 0 && first != char(0xFF)) return false;
        for (size_t k = 1; k < width; ++k)
            if (bytes[i * width + k] != first) return false;
        return true;
    };
    size_t found = number % count;
    for (size_t k = 0; k < count && is_empty(found); ++k) found = (found + 1) % count;
    return found;
}

void change(fuzz::Input* input, std::vector<fuzz::Part>* parts) {
    static constexpr size_t kWidths[] = {1, 2, 4, 8, 4, 8, 32, 4};
    fuzz::Part& part = (*parts)[input->below(parts->size())];
    const uint8_t how = input->byte();
    const size_t width = kWidths[how & 7];
    const uint32_t number = uint32_t(input->byte()) << 8 | input->byte();
    const size_t at = place_of(part.bytes, width, number, how & 8) * width;
    std::string& bytes = part.bytes;
    const bool fits = at + width <= bytes.size();
    switch (how >> 4) {
        case 0:  // grows the section
            bytes.append(width * (1 + number % 4), char(number >> 8));
            return;
        case 1:  // shrinks the section
            bytes.resize(bytes.size() - std::min(bytes.size(), width * (1 + number % 4)));
            return;
        case 2:  // copies the element of another place
        case 3:
        case 4:
            if (fits) {
                const size_t from =
                    place_of(bytes, width, uint32_t(input->byte()) << 8 | input->byte(), how & 8) * width;
                if (from + width <= bytes.size()) bytes.replace(at, width, bytes.substr(from, width));
            }
            return;
        case 5:  // removes the section, or gives it another type
            if (number % 8 == 0) part.type = number >> 8;
            if (number % 8 == 1) part.flags ^= 1;
            if (number % 8 == 2) bytes.clear();
            return;
        case 6:
        case 7:
        case 8:  // adds to a number
            if (fits) {
                uint64_t value = 0;
                const size_t n = std::min<size_t>(width, 8);
                std::memcpy(&value, &bytes[at], n);
                value += uint64_t(int64_t(int8_t(input->byte())));
                std::memcpy(&bytes[at], &value, n);
            }
            return;
        case 9:
        case 10:  // flips a bit
            if (fits) {
                const uint8_t bit = input->byte();
                bytes[at + (bit >> 3) % width] ^= char(1 << (bit & 7));
            }
            return;
        case 12:  // a special number
            if (fits && width >= 4) {
                static constexpr uint64_t kSpecial[] = {
                    0, ~0ull, 0x7FFFFFFF, 0x80000000, 0x7FF0000000000000ull, 0x7FF8000000000000ull, 1ull << 63, 1};
                const uint64_t value = kSpecial[input->below(8)];
                std::memcpy(&bytes[at], &value, std::min<size_t>(width, 8));
            }
            return;
        default:  // one number of a word
            if (fits) {
                const uint32_t value = input->word();
                std::memcpy(&bytes[at], &value, std::min<size_t>(width, 4));
            }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const size_t vocabulary = input.byte() % fuzz::vocabularies().size();
    const uint8_t options = input.byte();
    std::vector<fuzz::Part> parts = parts_of(vocabulary);
    for (size_t n = input.byte() % 8; n > 0; --n) change(&input, &parts);
    const std::string file = fuzz::put_together(parts);
    fuzz::Engines engines;
    std::optional<fuzz::OnlySafe> only_safe;
    for (const Checks checks : {Checks::whole, Checks::memory}) {
        try {
            engines = fuzz::open_everywhere(file, options & 1, checks);
            break;
        } catch (const Error& error) {
            fuzz::require(error.kind() == ErrorKind::cartridge, "a file is refused with another error", error.what());
            if (checks == Checks::memory) return 0;
            only_safe.emplace();
        }
    }
    fuzz::check_decoding(engines, {0, 1, 2, 3, 70, 300, 1 << 20}, options & 2, true);
    static const std::string kText =
        "\7\5hello  the world's  12 2024\r\n\xC3\xA9! <s>\xE4\xB8\xAD\xE6\x96\x87 aaaaaaaa crayon \xFF";
    fuzz::Input fixed(reinterpret_cast<const uint8_t*>(kText.data()), kText.size());
    fuzz::check_all(engines, &fixed);
    fuzz::check_all(engines, &input);
    return 0;
}
