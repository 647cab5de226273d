// Reads any bytes as a version 2 cartridge. Reading must throw Error(cartridge), or the trie must be listed, and
// written back bit for bit.
#include "crayon/cartridge/cartridge_v2.h"

#include "crayon/support/error.h"
#include "support.h"

using namespace crayon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const Bytes file(data, size);
    try {
        const DoubleArray trie = read_cartridge_v2(file);
        fuzz::require(write_cartridge_v2(trie) == std::string(file.view()), "it is written otherwise than it was read");
        const auto keys = list_double_array(view_of(trie));
        for (size_t i = 0; i < keys.size(); ++i) {
            const auto& [key, value] = keys[i];
            fuzz::require(i == 0 || keys[i - 1].first < key, "keys are not in order");
            fuzz::require(view_of(trie).find(Bytes(key)) == value, "a key that is listed is not found");
            fuzz::require(view_of(trie).longest_match(Bytes(key)).first <= key.size(), "longest_match");
        }
    } catch (const Error& error) {
        fuzz::require(error.kind() == ErrorKind::cartridge, "a file is refused with another error", error.what());
    }
    return 0;
}
