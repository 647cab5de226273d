// Tests the memo that an engine's threads share: it finds the ids that were kept for a word, whichever thread kept
// them, or finds nothing.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "encode/memo/memo.h"
#include "support/memory_limit.h"

using namespace crayon;

namespace {

// Makes the word with this number (and, below, its ids): some are short, some long, with few or many ids.
std::string word_of(uint32_t n) {
    std::string word = std::to_string(n) + "/";
    if (n % 2) word.resize(16 + n * 7 % (Memo::kLongest - 15), char('a' + n % 26));
    return word;
}
std::vector<uint32_t> ids_of(uint32_t n) {
    std::vector<uint32_t> ids(1 + n % 9);
    for (uint32_t i = 0; i < ids.size(); ++i) ids[i] = n + i;
    return ids;
}

struct Named {
    explicit Named(uint32_t n) : text(word_of(n)) {
        const Bytes word = text;
        const bool is_long = word.size > kWordKeyBytes;
        longer = is_long ? word : Bytes();
        hash = MemoReader::hash_of(word);
        key = is_long ? MemoReader::key_of(word, hash) : word_key(word.data, word.size, word.end());
        if (!is_long) hash = MemoReader::hash_of(key);
    }
    std::string text;
    Bytes longer;
    WordKey key;
    uint64_t hash;
};

void keep(MemoReader& reader, uint32_t n) {
    const Named word(n);
    const std::vector<uint32_t> ids = ids_of(n);
    if (word.longer.size == 0 && ids.size() <= kWordIds)
        reader.keep(make_word_entry(word.key, ids.data(), ids.size()), word.hash);
    else
        reader.keep(word.key, word.hash, word.longer, ids.data(), ids.size());
}

// The ids of a word in the memo, if it has the word.
std::optional<std::vector<uint32_t>> find(MemoReader& reader, uint32_t n) {
    const Named word(n);
    WordEntry entry;
    if (!reader.find(word.key, word.hash, word.longer, &entry)) return std::nullopt;
    if (word_ids(entry) <= kWordIds) return std::vector<uint32_t>(entry.ids, entry.ids + word_ids(entry));
    CHECK(word_ids(entry) == kRecorded && reader.has_record(entry));
    std::vector<uint32_t> ids(reader.record_of(entry).count() + 3);  // copy() may write three more
    ids.resize(reader.record_of(entry).copy(ids.data()));
    return ids;
}

struct Limit {
    explicit Limit(size_t bytes) { set_memory_limit(bytes); }
    ~Limit() { set_memory_limit(0); }
};

}  // namespace

TEST(a_memo_finds_what_it_has_and_nothing_else) {
    Memo memo;
    MemoReader reader(&memo);
    for (uint32_t n = 0; n < 20000; ++n) {
        CHECK(!find(reader, n));
        keep(reader, n);
    }
    uint32_t lost = 0;  // words that were not kept, because all their slots were taken
    for (uint32_t n = 0; n < 20000; ++n) {
        const auto found = find(reader, n);
        if (found) CHECK(found == ids_of(n));
        lost += !found;
    }
    CHECK(lost < 200);
    CHECK(memo.bytes() > 0 && memo.is_read());
}

TEST(a_long_word_is_found_by_its_bytes_and_not_by_its_key) {
    Memo memo;
    MemoReader reader(&memo);
    const std::string word = "twenty bytes of text", other = "twenty bytes of tent";
    const uint64_t hash = MemoReader::hash_of(Bytes(word));
    const WordKey key = MemoReader::key_of(Bytes(word), hash);
    const uint32_t ids[] = {1, 2, 3};
    reader.keep(key, hash, word, ids, 3);
    WordEntry entry;
    CHECK(reader.find(key, hash, word, &entry));
    CHECK(!reader.find(key, hash, other, &entry));
}

TEST(one_thread_finds_what_another_kept) {
    Memo memo;
    MemoReader one(&memo), other(&memo);
    keep(one, 7);
    CHECK(!find(other, 7));  // `other` has not called refresh() yet
    CHECK(!other.refresh());
    CHECK(find(other, 7) == ids_of(7));
}

TEST(a_memo_that_is_full_has_the_newest_and_never_a_wrong_one) {
    const Limit limit(size_t(4) << 20);  // a memo gets a quarter
    Memo memo;
    MemoReader reader(&memo);
    size_t changes = 0, most = 0;
    for (uint32_t n = 0; n < 200000; ++n) {
        changes += reader.refresh();
        keep(reader, n);
        if (const auto before = find(reader, n / 2)) CHECK(before == ids_of(n / 2));
        if (n % 1000 == 0) most = std::max(most, memo.bytes());
    }
    CHECK(changes > 3);
    CHECK(most < size_t(3) << 20);
    CHECK(find(reader, 199999) == ids_of(199999));
    CHECK(!find(reader, 1));
}

// A word that is found while others are added stays, whatever is evicted.
TEST(what_is_used_stays) {
    const Limit limit(size_t(4) << 20);
    Memo memo;
    MemoReader reader(&memo);
    keep(reader, 1);
    for (uint32_t n = 2; n < 100000; ++n) {
        reader.refresh();
        keep(reader, n);
        if (n % 50 == 0) CHECK(find(reader, 1) == ids_of(1));
    }
}

TEST(a_memo_that_is_cleared_is_gone_when_its_readers_look) {
    Memo memo;
    MemoReader reader(&memo);
    keep(reader, 1);
    memo.clear();
    CHECK(memo.bytes() == 0);
    CHECK(find(reader, 1) == ids_of(1));
    CHECK(reader.refresh());
    CHECK(!find(reader, 1));
    keep(reader, 1);
    CHECK(find(reader, 1) == ids_of(1));
}

TEST(what_rests_holds_nothing_and_knows_what_is_gone) {
    const Limit limit(size_t(4) << 20);
    Memo memo;
    MemoReader one(&memo), other(&memo);
    keep(one, 1);
    one.rest();
    CHECK(!memo.is_read());
    CHECK(!one.refresh());
    CHECK(find(one, 1) == ids_of(1));
    one.rest();
    size_t most = 0;
    for (uint32_t n = 2; n < 200000; ++n) {
        other.refresh();
        keep(other, n);
        most = std::max(most, memo.bytes());
    }
    CHECK(one.refresh());
    CHECK(!find(one, 1));
    one.rest();
    memo.clear();
    CHECK(one.refresh());
}

TEST(threads_share_a_memo_that_begins_anew_and_is_cleared) {
    const Limit limit(size_t(2) << 20);
    Memo memos[2];
    std::atomic<uint64_t> found{0}, wrong{0};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int round = 0; round < 10; ++round) {
                MemoReader reader(&memos[t % 2]);
                for (uint32_t i = 0; i < 4000; ++i) {
                    const uint32_t n = (i * 31 + t * 17) % 9000 + t % 2 * 100000;
                    reader.refresh();
                    if (const auto ids = find(reader, n)) {
                        wrong += ids != ids_of(n);
                        ++found;
                    } else {
                        keep(reader, n);
                    }
                    if (i == 2000 && t == 0) memos[1].clear();
                }
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(found > 1000);
}
