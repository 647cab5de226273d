#include "crayon/encode/sinks/ranges.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "crayon/support/error.h"
#include "encode/sinks/encode_texts.h"

namespace crayon {
namespace {

[[noreturn]] void too_large(int64_t id, const std::string& of, uint64_t largest) {
    throw Error(ErrorKind::argument, "id " + std::to_string(id) + of + " does not fit: the largest of this type is " +
                                         std::to_string(largest));
}

// Texts seldom have more ids than bytes / kBytesPerId. Reserved memory that is not written costs nothing.
constexpr size_t kBytesPerId = 3;

// Copies the ids of texts into an array of type Id. Ids arrive in the order of texts, those of a long text in several
// calls.
template <typename Id>
class RangeTaker {
  public:
    RangeTaker(const Suffix& suffix, size_t texts, size_t bytes, RaggedIds<Id>* out)
        : after_empty_(suffix.after_empty), out_(*out) {
        for (const int64_t id : suffix.ids) {
            if (id < 0 || uint64_t(id) > kLargest) too_large(id, " of the suffix", kLargest);
            suffix_.push_back(Id(id));
        }
        out_.splits.reserve(texts + 1);
        out_.splits.push_back(0);
        out_.ids.reserve_more(bytes / kBytesPerId + texts * suffix_.size());
    }

    void take(const Task& task, const TextIds& made) {
        if (suffix_.empty()) {
            const int64_t before = int64_t(out_.ids.size());
            append(task, made, 0, made.ids.size());
            if (task.is_last)
                for (const size_t end : made.ends) out_.splits.push_back(before + int64_t(end));
            return;
        }
        size_t start = 0;
        for (const size_t end : made.ends) {
            append(task, made, start, end);
            start = end;
            if (!task.is_last) continue;
            const bool is_empty = int64_t(out_.ids.size()) == out_.splits.back();
            if (!is_empty || after_empty_) out_.ids.append(suffix_.data(), suffix_.size());
            out_.splits.push_back(int64_t(out_.ids.size()));
        }
    }

  private:
    static constexpr uint64_t kLargest = uint64_t(std::numeric_limits<Id>::max());

    void append(const Task& task, const TextIds& made, size_t from, size_t to) {
        const int32_t* const ids = made.ids.data() + from;
        const size_t n = to - from;
        if (n == 0) return;
        out_.ids.reserve_more(n);
        if constexpr (sizeof(Id) == sizeof(int32_t)) {
            std::memcpy(out_.ids.end(), ids, n * sizeof(Id));
        } else {
            uint32_t any = 0;
            Id* const to_ids = out_.ids.end();
            for (size_t i = 0; i < n; ++i) {
                any |= uint32_t(ids[i]);
                to_ids[i] = Id(ids[i]);
            }
            if (any > kLargest) refuse(task, made, from);
        }
        out_.ids.advance(n);
    }

    [[noreturn]] void refuse(const Task& task, const TextIds& made, size_t from) const {
        size_t i = from;
        while (uint32_t(made.ids.data()[i]) <= kLargest) ++i;
        const size_t text = size_t(std::upper_bound(made.ends.begin(), made.ends.end(), i) - made.ends.begin());
        too_large(int64_t(uint32_t(made.ids.data()[i])), " of text " + std::to_string(task.begin + text), kLargest);
    }

    const bool after_empty_;
    std::vector<Id> suffix_;
    RaggedIds<Id>& out_;
};

}  // namespace

template <typename Id>
RaggedIds<Id> encode_ranges(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                            const Suffix& suffix, size_t threads) {
    RaggedIds<Id> out;
    RangeTaker<Id> taker(suffix, texts.size(), bytes_of(texts), &out);
    const auto take = [&](const Task* tasks, const auto* parts, size_t n) {
        for (size_t t = 0; t < n; ++t) taker.take(tasks[t], *parts[t]);
    };
    encode_texts(engine, texts, options, threads, 1, take, engine.kernels().utf8_error);
    return out;
}

template RaggedIds<int32_t> encode_ranges(const Engine&, const std::vector<TextView>&, const EncodeOptions&,
                                          const Suffix&, size_t);
template RaggedIds<uint32_t> encode_ranges(const Engine&, const std::vector<TextView>&, const EncodeOptions&,
                                           const Suffix&, size_t);
template RaggedIds<uint16_t> encode_ranges(const Engine&, const std::vector<TextView>&, const EncodeOptions&,
                                           const Suffix&, size_t);

}  // namespace crayon
