// A Python interpreter linked with the sanitizers' library, with its settings. So the library is loaded first, as it
// must be, and only by Python. (LD_PRELOAD would load it into Java, Chromium and compilers, too, which fail with it.)
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
