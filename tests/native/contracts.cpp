// Callers' obligations, which builds with assertions check.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "check.h"
#include "encode/memo/word_block.h"

using namespace crayon;

namespace {

// Whether work() fails an assertion, which would end the process.
template <typename Work>
bool asserts_against(Work&& work) {
    const pid_t child = ::fork();
    CHECK(child >= 0);
    if (child == 0) {
        std::fclose(stderr);
        work();
        ::_exit(0);
    }
    int status = 0;
    CHECK(::waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace

TEST(pieces_of_a_block_are_in_order) {
    const Bytes text = std::string_view("a text of some words, longer than sixteen bytes");
    const auto make_keys = [&](Piece first, Piece second) {
        const Piece pieces[] = {first, second};
        WordBlock<2> block;
        const WordCache cache;
        block.make_keys(text, 2, PieceWords{pieces}, {cache.buckets()->entries, cache.shift()}, WordKernels());
    };
    CHECK(!asserts_against([&] { make_keys({0, 1}, {2, 6}); }));
    CHECK(!asserts_against([&] { make_keys({0, 1}, {1, 1}); }));
    CHECK(asserts_against([&] { make_keys({2, 6}, {0, 1}); }));                        // in reverse order
    CHECK(asserts_against([&] { make_keys({0, 3}, {2, 6}); }));                        // one inside the other
    CHECK(asserts_against([&] { make_keys({0, 1}, {2, uint32_t(text.size) + 1}); }));  // beyond the text
}
