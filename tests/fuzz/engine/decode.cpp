// Decodes any ids. All paths must give the same text, or all must refuse the ids. Input: vocabulary, options, then ids
// of one byte or three.
#include "support.h"

using namespace crayon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const size_t vocabulary = input.byte() % fuzz::vocabularies().size();
    const uint8_t options = input.byte();
    std::vector<int64_t> ids;
    while (input.size() > 0) {
        const uint8_t first = input.byte();
        if (first == 0xFF)
            ids.push_back(int32_t(input.word()));
        else
            ids.push_back(first < 0x80 ? first : int64_t(first - 0x80) << 8 | input.byte());
    }
    if (options & 4) ids.push_back(int64_t(input.word()) << 31 | options);
    fuzz::check_decoding(fuzz::engines_of(vocabulary, options & 8), ids, options & 1, options & 2);
    return 0;
}
