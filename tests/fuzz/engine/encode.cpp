// Encodes any text. Every instruction set and path must give the same ids: whole, streamed, in a batch, and by the
// plain algorithm. Input: vocabulary, options, windows of streams, then the text.
#include "support.h"

using namespace crayon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const uint8_t which = input.byte();
    const bool is_greedy = which >= 192;
    fuzz::check_all(fuzz::engines_of(which % fuzz::vocabularies().size(), is_greedy), &input);
    return 0;
}
