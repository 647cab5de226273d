// A fault of each kind, with which tools/sanitize.py checks that the sanitizers work.
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

volatile int one = 1;  // unknown to the compiler
int shared = 0;

}  // namespace

extern "C" {

int none() {
    return one;
}

int past_the_end() {
    std::string bytes(size_t(40), 'a');
    const char* data = bytes.data();
    return data[40 + one];
}

int after_free() {
    auto* numbers = new std::vector<int>(size_t(9), 1);
    const int* first = numbers->data();
    delete numbers;
    return first[one];
}

int overflow() {
    return 2147483647 + one;
}

int misaligned() {
    alignas(8) static const char bytes[16] = {};
    return *reinterpret_cast<const int32_t*>(bytes + one);
}

int past_the_vector() {
    const std::vector<int> numbers(size_t(4), 1);
    return numbers[size_t(3 + one)];
}

int race() {
    std::thread other([] {
        for (int i = 0; i < 10000; ++i) shared += one;
    });
    for (int i = 0; i < 10000; ++i) shared += one;
    other.join();
    return shared;
}
}
