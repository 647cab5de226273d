// TEST registers a function as a test, and CHECK ends the program if its condition is false. main.cpp runs the tests.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace native {

struct Test {
    const char* name;
    void (*run)();
};

inline std::vector<Test>& all_tests() {
    static std::vector<Test> tests;
    return tests;
}

struct Registered {
    Registered(const char* name, void (*run)()) { all_tests().push_back({name, run}); }
};

[[noreturn]] inline void failed(const char* file, int line, const char* what) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
    std::exit(1);
}

}  // namespace native

#define TEST(name)                                             \
    static void name();                                        \
    static const native::Registered name##_test(#name, &name); \
    static void name()

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) native::failed(__FILE__, __LINE__, #condition); \
    } while (false)

#define CHECK_THROWS(expression, type)                                                    \
    do {                                                                                  \
        bool raised = false;                                                              \
        try {                                                                             \
            expression;                                                                   \
        } catch (const type&) {                                                           \
            raised = true;                                                                \
        }                                                                                 \
        if (!raised) native::failed(__FILE__, __LINE__, #expression " throws no " #type); \
    } while (false)
