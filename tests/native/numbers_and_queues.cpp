// Numbers as serde_json reads them, tries, and the queue and lists that merges are found with.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.h"
#include "crayon/cartridge/double_array.h"
#include "crayon/support/error.h"
#include "json/json_number.h"
#include "training/train_queue.h"

using namespace crayon;

namespace {

bool reads(std::string_view text, double* out) {
    return json::read_serde_number(text.data(), text.data() + text.size(), out);
}
double number(std::string_view text) {
    double value = std::numeric_limits<double>::quiet_NaN();
    CHECK(reads(text, &value));
    return value;
}
PairEntry entry(uint64_t count, uint64_t key) {
    return {count, key, 0, 1};
}

}  // namespace

TEST(numbers_that_are_plain) {
    CHECK(number("0") == 0 && number("7") == 7 && number("-12.5") == -12.5 && number("25e-1") == 2.5);
    CHECK(number("1E+2") == 100 && number("18446744073709551615") == 18446744073709551615.0);
    CHECK(std::signbit(number("-0")) && !std::signbit(number("0")));
}

TEST(numbers_at_the_ends_of_the_range) {
    double value;
    CHECK(number("1e308") == 1e308 && number("5e-324") == 5e-324);
    CHECK(!reads("1e309", &value) && !reads("-2e308", &value) && !reads("1e999999999999", &value));
    CHECK(number("1e-400") == 0 && std::signbit(number("-1e-999999999999")));
    CHECK(number("0e999999999999") == 0 && number("0e400") == 0);
    CHECK(number("0." + std::string(400, '0') + "1e401") == 1);
    CHECK(number("1" + std::string(400, '0') + "e-400") == 1);
}

TEST(digits_past_64_bits_count_as_zeros) {
    CHECK(number("184467440737095516159") == 1844674407370955161.0 * 100);
    CHECK(number("0.100000000000000000000000000009") == 0.1);
}

TEST(a_trie_of_nothing_and_of_every_byte) {
    const DoubleArray none = build_double_array({});
    verify_double_array(view_of(none), 1);
    CHECK(view_of(none).find(Bytes(std::string_view("a"))) == -1);
    std::vector<std::string> bytes;
    for (int b = 0; b < 256; ++b) bytes.emplace_back(1, char(b));
    bytes.emplace_back(3, '\0');
    bytes.emplace_back(200, '\xFF');
    std::vector<std::pair<std::string_view, int32_t>> keys;
    for (const std::string& key : bytes) keys.emplace_back(key, int32_t(keys.size()));
    sort_keys(&keys);
    const DoubleArray trie = build_double_array(keys);
    const DoubleArrayView view = view_of(trie);
    verify_double_array(view, int64_t(keys.size()));
    for (const auto& [key, value] : keys) CHECK(view.find(Bytes(key)) == value);
    CHECK(view.longest_match(Bytes(std::string_view("\0\0\0\0", 4))) == std::make_pair(size_t(3), 256));
    CHECK(view.longest_match(Bytes(std::string_view("\0\0", 2))) == std::make_pair(size_t(1), 0));
    CHECK_THROWS(verify_double_array(view, int64_t(keys.size()) - 1), Error);
}

TEST(a_trie_whose_nodes_lie_does_not_read_outside_itself) {
    const DoubleArray good = build_double_array({{"ab", 0}, {"b", 1}});
    for (size_t node = 0; node < good.base.size(); ++node) {
        for (const int32_t lie : {INT32_MIN, -1, int32_t(good.base.size()), INT32_MAX}) {
            DoubleArray bad = good;
            bad.base[node] = lie;
            for (int first = 0; first < 256; ++first)
                for (int second = 0; second < 256; ++second) {
                    const uint8_t text[] = {uint8_t(first), uint8_t(second)};
                    view_of(bad).longest_match(Bytes(text, 2));
                }
        }
        DoubleArray circle = good;
        circle.check[node] = int32_t(node);
        CHECK_THROWS(verify_double_array(view_of(circle), 2), Error);
    }
}

TEST(a_queue_gives_the_most_frequent_then_the_smallest_then_the_first) {
    PairQueue queue;
    PairEntry out;
    CHECK(!queue.pop(&out));
    for (const auto& [count, key] :
         std::vector<std::pair<uint64_t, uint64_t>>{{1, 9}, {500, 3}, {2, 8}, {500, 2}, {500, 3}})
        queue.push(entry(count, key));
    const std::vector<std::pair<uint64_t, uint32_t>> wanted{{2, 3}, {3, 1}, {3, 4}, {8, 2}, {9, 0}};
    for (const auto& [key, turn] : wanted) {
        CHECK(queue.pop(&out));
        CHECK(out.key == key && out.turn == turn);
    }
    CHECK(!queue.pop(&out));
}

TEST(a_queue_takes_pairs_back_while_rare_ones_wait) {
    PairQueue queue;
    for (uint64_t i = 1; i <= 1000; ++i) queue.push(entry(i, i));
    uint64_t last = 1001, seen = 0, pushed = 0;
    PairEntry out;
    while (queue.pop(&out)) {
        CHECK(out.count <= last);
        last = out.count;
        ++seen;
        if (out.key % 3 != 0 || out.count < 2) continue;
        queue.push(entry(out.count / 2, out.key + 1));  // looked at again, it is rarer
        ++pushed;
    }
    CHECK(seen == 1000 + pushed && last <= 1);
}

TEST(lists_are_apart_and_use_again_what_is_given_back) {
    PositionLists lists(1000);
    const PositionLists::Place first = lists.take(600), second = lists.take(400);
    CHECK(lists.at(second) - lists.at(first) == 600);
    CHECK_THROWS(lists.take(1), std::bad_alloc);
    lists.give_back(first, 600);
    const PositionLists::Place third = lists.take(500), fourth = lists.take(100);
    CHECK(third == first && fourth == first + 500);
    CHECK_THROWS(lists.take(1), std::bad_alloc);
    lists.give_back(fourth, 10);  // scrap: not worth a list
    CHECK_THROWS(lists.take(5), std::bad_alloc);
}
