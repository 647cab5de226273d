// Compiles any tokenizer.json. The compiler must refuse it as malformed or as not implemented, or compile it. A
// compiled cartridge must verify, match its source, and encode a text to the same ids on every path. A source that ends
// with a line break is compiled with tiktoken's flavor.
#include "crayon/compiler/compiler.h"

#include "crayon/compiler/compare_source.h"
#include "crayon/support/error.h"
#include "json_mutator.h"
#include "support.h"

using namespace crayon;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    return fuzz::mutate_json(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const Bytes source(data, size);
    CompileOptions options;
    if (size > 0 && data[size - 1] == '\n') {
        options.flavor = Flavor::rust_regex;
        options.metadata = R"({"reference":"tiktoken"})";
    }
    std::string file;
    try {
        file = compile_tokenizer_json(source.view(), options);
    } catch (const Error& error) {
        fuzz::require(error.kind() == ErrorKind::vocabulary || error.kind() == ErrorKind::unsupported,
                      "a tokenizer.json is refused with another error", error.what());
        return 0;
    }
    fuzz::Engines engines;
    try {
        engines = fuzz::open_everywhere(file, size & 1);
        const std::string difference = find_mismatch(engines[0]->cartridge(), source.view());
        fuzz::require(difference.empty(), "a mismatch with the own source", difference);
    } catch (const Error& error) {
        fuzz::require(false, "what was compiled is refused", error.what());
    }
    static const std::string kText =
        "hello  the world's  123 2024\r\n\xC3\xA9! <s>\xE4\xB8\xAD\xE6\x96\x87 aaaaaaaa <mask> crayon [CLS] "
        "\xF0\x9F\x99\x82 e\xCC\x81 ";
    const std::string text = std::string{char(size & 7), char(size >> 3)} + kText +
                             std::string(source.slice(size - std::min<size_t>(size, 40), size).view());
    fuzz::Input input(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    fuzz::check_all(engines, &input);
    return 0;
}
