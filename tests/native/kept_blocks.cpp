// The memory of results that is used again: which block is given, and never to two.
#include "crayon/support/kept_blocks.h"

#include <thread>
#include <vector>

#include "check.h"

using namespace crayon;

TEST(kept_blocks_are_given_again) {
    size_t bytes = 0;
    void* const block = std::malloc(3 * kHugePage);
    keep_block(block, 3 * kHugePage);
    CHECK(kept_block_bytes == 3 * kHugePage);
    CHECK(take_kept_block(4 * kHugePage, &bytes) == nullptr);  // it is too small
    CHECK(take_kept_block(kHugePage, &bytes) == nullptr);      // more than twice as large
    CHECK(take_kept_block(3 * kHugePage - 1, &bytes) == block);
    CHECK(bytes == 3 * kHugePage);
    CHECK(kept_block_bytes == 0);
    CHECK(take_kept_block(3 * kHugePage, &bytes) == nullptr);  // it is taken
    std::free(block);
}

TEST(kept_blocks_are_few) {
    for (int i = 0; i < 5; ++i) keep_block(std::malloc(kHugePage), kHugePage);
    CHECK(kept_block_bytes == 2 * kHugePage);
    keep_block(std::malloc(kHugePage - 1), kHugePage - 1);
    keep_block(std::malloc(kMostKeptBytes + 1), kMostKeptBytes + 1);
    keep_block(nullptr, 0);
    CHECK(kept_block_bytes == 2 * kHugePage);
    free_kept_blocks();
    CHECK(kept_block_bytes == 0);
}

TEST(kept_blocks_are_one_threads_each) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            for (int i = 0; i < 2000; ++i) {
                size_t bytes = 0;
                void* block = take_kept_block(kHugePage, &bytes);
                if (block == nullptr) {
                    bytes = kHugePage;
                    block = std::malloc(bytes);
                }
                int* const mine = static_cast<int*>(block) + 100;
                *mine = t * 10000 + i;
                std::this_thread::yield();
                CHECK(*mine == t * 10000 + i);
                keep_block(block, bytes);
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(kept_block_bytes <= 2 * kHugePage);
    free_kept_blocks();
    CHECK(kept_block_bytes == 0);
}
