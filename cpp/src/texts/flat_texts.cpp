#include "crayon/texts/flat_texts.h"

#include <algorithm>
#include <string>

#include "crayon/encode/run/thread_count.h"
#include "crayon/support/error.h"
#include "encode/run/task_runner.h"

namespace crayon {
namespace {

// The number of units that is worth a thread of its own, for work as fast as copying.
constexpr size_t kGroupUnits = size_t(1) << 20;

}  // namespace

FlatTextWriter::FlatTextWriter(const std::vector<TextView>& texts, size_t threads)
    : texts_(texts), threads_(thread_count(threads)), offsets_(texts.size() + 1) {
    parts_.reserve(texts.size());
    size_t units = 0;
    groups_.push_back(0);
    for (size_t i = 0; i < texts.size(); ++i) {
        for (size_t from = 0; from < texts[i].size; from += kGroupUnits) {
            const size_t to = std::min(texts[i].size, from + kGroupUnits);
            parts_.push_back({i, from, to, 0});
            units += to - from;
            if (units < kGroupUnits) continue;
            groups_.push_back(parts_.size());
            units = 0;
        }
    }
    if (groups_.back() < parts_.size()) groups_.push_back(parts_.size());

    for_each_part([&](size_t i) {
        TextPart& part = parts_[i];
        part.at = utf8_size(texts_[part.text], part.from, part.to);
    });
    uint64_t at = 0;
    size_t text = 0;
    for (TextPart& part : parts_) {
        const uint64_t size = part.at;
        part.at = at;
        for (; text <= part.text; ++text) offsets_[text] = at;
        at += size;
    }
    for (; text <= texts.size(); ++text) offsets_[text] = at;
}

template <typename Work>
void FlatTextWriter::for_each_part(Work&& work) const {
    const auto work_off = [&](size_t group, size_t, const Poll&) {
        for (size_t i = groups_[group]; i < groups_[group + 1]; ++i) work(i);
    };
    run_watched(groups_.size() - 1, threads_, work_off, [] {});
}

void FlatTextWriter::write(uint8_t* to) const {
    for_each_part([&](size_t i) {
        const TextPart& part = parts_[i];
        write_utf8(texts_[part.text], part.from, part.to, to + part.at);
    });
}

std::vector<uint64_t> checked_offsets(const int64_t* offsets, size_t n, size_t size) {
    if (n == 0) throw Error(ErrorKind::argument, "offsets is empty, expected one more value than texts");
    std::vector<uint64_t> checked(n);
    int64_t before = 0;
    for (size_t i = 0; i < n; ++i) {
        if (offsets[i] < before || uint64_t(offsets[i]) > size)
            throw Error(ErrorKind::argument, "offsets[" + std::to_string(i) + "] is " + std::to_string(offsets[i]) +
                                                 ", expected " + std::to_string(before) + " to " +
                                                 std::to_string(size) + ", the size of the data");
        checked[i] = uint64_t(before = offsets[i]);
    }
    return checked;
}

}  // namespace crayon
