// Tests the folder support: memory, base64 and files.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "check.h"
#include "crayon/support/buffer_pool.h"
#include "crayon/support/error.h"
#include "crayon/support/held_file.h"
#include "crayon/support/id_buffer.h"
#include "support/base64.h"
#include "support/size_limits.h"

using namespace crayon;

TEST(base64_of_every_length_of_a_last_group) {
    const std::pair<const char*, const char*> cases[] = {
        {"", ""},      {"Zg==", "f"},   {"Zg", "f"},          {"Zm8=", "fo"},
        {"Zm8", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg==", "foob"}, {"+/8=", "\xFB\xFF"}};
    for (const auto& [text, bytes] : cases) {
        std::string out = "left over";
        CHECK(from_base64(text, &out));
        CHECK(out == bytes);
    }
}

TEST(base64_that_is_none) {
    std::string out;
    // One digit is not a byte; too much padding, or padding in front; bits beyond the last byte; other characters.
    for (const char* text : {"Z", "Zg===", "Zm9v=", "=", "====", "Zh==", "Zm9=", "Zm 9v", "Zm9v\n", "-_8=", "Zg==Zg=="})
        CHECK(!from_base64(text, &out));
}

TEST(growth_is_free_up_to_a_mebibyte_and_then_by_a_factor) {
    check_growth(0, kFreeGrowth);
    check_growth(1, kFreeGrowth + 2 * kMostGrowth - 1);
    CHECK_THROWS(check_growth(0, kFreeGrowth + kMostGrowth), Error);
    CHECK_THROWS(check_growth(1, kFreeGrowth + 2 * kMostGrowth), Error);
}

TEST(ids_are_trimmed_shrunk_and_given_away) {
    IdBuffer ids;
    for (int32_t i = 0; i < 2000; ++i) ids.push(i);
    const size_t capacity = ids.capacity();
    ids.trim(capacity);
    CHECK(ids.size() == 2000 && ids.capacity() == capacity);
    ids.shrink_by(1000);
    ids.shrink_to_fit();
    CHECK(ids.size() == 1000 && ids.capacity() == 1000 && ids.data()[999] == 999);
    IdBuffer moved(std::move(ids));
    CHECK(ids.size() == 0 && ids.capacity() == 0);
    int32_t* const data = moved.release();
    CHECK(moved.data() == nullptr && moved.size() == 0);
    IdBuffer again(data, 1000);  // takes the memory, with size 0
    CHECK(again.size() == 0 && again.capacity() == 1000);
    again.trim(999);
    CHECK(again.data() == nullptr && again.capacity() == 0);
    CHECK_THROWS(again.reserve_more(SIZE_MAX / 2), std::bad_alloc);
}

TEST(a_pool_lends_a_block_once) {
    BufferPool pool(1, 100);
    BufferPool::Lease first = pool.lease();
    first.reserve(100);
    void* const block = first.data();
    CHECK(pool.lease().data() == nullptr);  // the leased block is not handed out again
    first = BufferPool::Lease();
    BufferPool::Lease second = pool.lease();
    CHECK(second.data() == block && second.capacity() == 100);
    std::memset(second.data(), 7, 100);
    second.reserve(50);
    CHECK(second.capacity() == 100);
    second.reserve(200);
    CHECK(static_cast<const uint8_t*>(second.data())[99] == 7);
    second = BufferPool::Lease();
    CHECK(pool.lease().data() == nullptr);  // the returned block was too large to keep
}

TEST(a_pool_keeps_so_many_blocks_and_leases_outlive_it) {
    BufferPool::Lease longest;
    {
        BufferPool pool(1, 100);
        BufferPool::Lease other = pool.lease();
        longest = pool.lease();
        other.reserve(10);
        longest.reserve(20);
    }
    std::memset(longest.data(), 1, 20);
    void* const taken = longest.release();
    CHECK(longest.data() == nullptr && longest.capacity() == 0);
    longest.adopt(taken, 20);
    CHECK(longest.data() == taken);
}

TEST(a_held_file_outlives_its_name) {
    char path[] = "/tmp/crayon-native-XXXXXX";
    const int made = ::mkstemp(path);
    CHECK(made >= 0);
    ::close(made);
    CHECK(HeldFile::count() == 0);
    {
        const HeldFile file(path, HeldFile::Kind::file);
        CHECK_THROWS(HeldFile(path, HeldFile::Kind::directory), std::system_error);
        ::unlink(path);
        CHECK(file.is_ours() && HeldFile::count() == 1);
        // Simulates a program that closes all descriptors, so that another file gets the number.
        const HeldFile directory("/tmp", HeldFile::Kind::directory);
        CHECK(::dup2(directory.descriptor(), file.descriptor()) == file.descriptor());
        CHECK(!file.is_ours() && directory.is_ours());
        const int reused = ::dup(file.descriptor());
        ::close(file.descriptor());
        ::close(reused);
        CHECK(!file.is_ours());
    }
    CHECK(HeldFile::count() == 0);
    CHECK_THROWS(HeldFile(path, HeldFile::Kind::file), std::system_error);
    CHECK_THROWS(HeldFile("/tmp", HeldFile::Kind::file), std::system_error);
    CHECK_THROWS(open_regular("/dev/null"), std::system_error);
    CHECK(HeldFile::count() == 0);
}
