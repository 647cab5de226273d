// Runs the test that the argument names.
#include <cstring>

#include "check.h"

int main(int n, char** arguments) {
    for (const native::Test& test : native::all_tests()) {
        if (n != 2 || std::strcmp(test.name, arguments[1]) != 0) continue;
        test.run();
        return 0;
    }
    std::fputs("there is no such test\n", stderr);
    return 2;
}
