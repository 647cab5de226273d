// Opens any bytes as a cartridge. Opening must throw Error(cartridge), or the cartridge must be safe to encode and
// decode with. Input: a byte, then the file. If the byte's lowest bit is set, the checksums are corrected first.
#include "crayon/compiler/certificate.h"
#include "crayon/support/error.h"
#include "signed.h"
#include "support.h"

using namespace crayon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const uint8_t options = input.byte();
    std::string file(input.rest().view());
    if (options & 1) fuzz::sign(&file);
    fuzz::Engines engines;
    try {
        engines = fuzz::open_everywhere(file, options & 2);
    } catch (const Error& error) {
        fuzz::require(error.kind() == ErrorKind::cartridge, "a file is refused with another error", error.what());
        return 0;
    }
    fuzz::Input text(reinterpret_cast<const uint8_t*>("\7\5 the hello<s> world\xC3\xA9 12 \xFF"), 27);
    fuzz::check_all(engines, &text);
    fuzz::check_decoding(engines, {0, 1, 2, 3, 70, 1 << 20}, options & 4, true);
    try {
        certificate_of(engines[0]->cartridge());
        with_certificate(file, "{}");
    } catch (const Error&) {
    }
    return 0;
}
