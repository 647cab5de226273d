// A Python whose own program brings the sanitizers' library, with its settings: it is loaded first, as it must be, and
// only Python has it. (LD_PRELOAD would give it to Java, Chromium and compilers, too, which do not bear it.)
#include <Python.h>

extern "C" {

const char* __asan_default_options() {
    return ASAN;
}
const char* __tsan_default_options() {
    return TSAN;
}
const char* __ubsan_default_options() {
    return UBSAN;
}
}

int main(int argc, char** argv) {
    return Py_BytesMain(argc, argv);
}
