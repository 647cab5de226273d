#include "crayon/batch.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "crayon/error.h"
#include "scratch.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace crayon {
namespace {

// Work for which starting a thread pays.
constexpr size_t kTaskBytes = size_t(1) << 16;

struct Task {
    size_t begin, end;  // inputs
};

template <typename SizeOf>
std::vector<Task> make_tasks(size_t n, SizeOf&& size_of) {
    std::vector<Task> tasks;
    size_t begin = 0, bytes = 0;
    for (size_t i = 0; i < n; ++i) {
        bytes += size_of(i) + 16;
        if (bytes >= kTaskBytes || i + 1 == n) {
            tasks.push_back({begin, i + 1});
            begin = i + 1;
            bytes = 0;
        }
    }
    return tasks;
}

// Runs work(task index, scratch) for every task; rethrows the error of the first task that failed.
template <typename Work>
void run_tasks(const Engine& engine, size_t n, size_t threads, Work&& work) {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    size_t failed_at = n;
    std::exception_ptr failure;
    const auto run = [&] {
        size_t i = 0;
        try {
            const Engine::Lease lease(engine);
            while ((i = next.fetch_add(1)) < n) work(i, *lease);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (failure == nullptr || i < failed_at) {
                failed_at = i;
                failure = std::current_exception();
            }
            next = n;  // tasks before this one were all taken already
        }
    };
    std::vector<std::thread> helpers;
    const size_t wanted = std::min(threads, n);
    for (size_t i = 1; i < wanted; ++i) {
        try {
            helpers.emplace_back(run);
        } catch (const std::system_error&) {
            break;  // no more threads to be had: go on with those there are
        }
    }
    run();
    for (std::thread& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

size_t core_count() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

size_t thread_count(size_t threads) {
    constexpr size_t kMost = 1024;
    if (threads != 0) return std::min(threads, kMost);
    if (const char* text = std::getenv("CRAYON_NUM_THREADS"); text != nullptr && *text != '\0') {
        const std::string digits(text);
        const bool is_number = digits.find_first_not_of("0123456789") == std::string::npos && digits.size() < 10;
        const unsigned long n = is_number ? std::strtoul(text, nullptr, 10) : 0;
        if (n == 0)
            throw Error(ErrorKind::argument, std::string("CRAYON_NUM_THREADS is not a positive number: ") + text);
        return std::min<size_t>(n, kMost);
    }
    if (const char* text = std::getenv("TOKENIZERS_PARALLELISM")) {
        std::string value(text);
        for (char& c : value) c = char(std::tolower(static_cast<unsigned char>(c)));
        for (const char* off : {"", "off", "false", "f", "no", "n", "0"})
            if (value == off) return 1;
    }
    return core_count();
}

Ragged encode_ragged(const Engine& engine, const std::vector<Bytes>& texts, const EncodeOptions& options,
                     size_t threads) {
    Ragged out;
    out.splits.assign(texts.size() + 1, 0);
    const auto tasks = make_tasks(texts.size(), [&](size_t i) { return texts[i].size; });
    if (std::min(thread_count(threads), tasks.size()) <= 1) {
        const Engine::Lease lease(engine);
        for (size_t i = 0; i < texts.size(); ++i) {
            engine.encode_ids(texts[i], options, *lease, &out.ids);
            out.splits[i + 1] = int64_t(out.ids.size());
        }
        return out;
    }
    std::vector<IdBuffer> parts(tasks.size());
    run_tasks(engine, tasks.size(), thread_count(threads), [&](size_t t, Scratch& scratch) {
        IdBuffer& ids = parts[t];
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i) {
            engine.encode_ids(texts[i], options, scratch, &ids);
            out.splits[i + 1] = int64_t(ids.size());  // within its task, until the tasks are joined
        }
        ids.shrink_to_fit();
    });
    size_t total = 0;
    for (const IdBuffer& part : parts) total += part.size();
    out.ids.reserve_more(total);
    for (size_t t = 0; t < tasks.size(); ++t) {
        const int64_t before = int64_t(out.ids.size());
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i) out.splits[i + 1] += before;
        out.ids.append(parts[t].data(), parts[t].size());
        parts[t].trim(0);
    }
    return out;
}

std::vector<int64_t> count_tokens(const Engine& engine, const std::vector<Bytes>& texts, const EncodeOptions& options,
                                  size_t threads) {
    std::vector<int64_t> counts(texts.size());
    const auto tasks = make_tasks(texts.size(), [&](size_t i) { return texts[i].size; });
    run_tasks(engine, tasks.size(), thread_count(threads), [&](size_t t, Scratch& scratch) {
        IdBuffer ids;
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i) {
            ids.clear();
            engine.encode_ids(texts[i], options, scratch, &ids);
            counts[i] = int64_t(ids.size());
        }
    });
    return counts;
}

std::vector<Encoding> encode_batch(const Engine& engine, const std::vector<Input>& inputs, const EncodeOptions& options,
                                   size_t threads) {
    std::vector<Encoding> out(inputs.size());
    const auto size_of = [&](size_t i) {
        size_t size = 0;
        for (const Bytes& part : inputs[i].first.parts) size += part.size;
        for (const Bytes& part : inputs[i].second.parts) size += part.size;
        return size;
    };
    const auto tasks = make_tasks(inputs.size(), size_of);
    run_tasks(engine, tasks.size(), thread_count(threads), [&](size_t t, Scratch& scratch) {
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i)
            out[i] = engine.encode(inputs[i].first, inputs[i].is_pair ? &inputs[i].second : nullptr, options, scratch);
    });
    return out;
}

std::vector<std::string> decode_batch(const Engine& engine, const std::vector<Array<int64_t>>& sequences,
                                      bool skip_special_tokens, size_t threads) {
    std::vector<std::string> out(sequences.size());
    const auto tasks = make_tasks(sequences.size(), [&](size_t i) { return sequences[i].size * 4; });
    run_tasks(engine, tasks.size(), thread_count(threads), [&](size_t t, Scratch&) {
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i)
            engine.decode(sequences[i], skip_special_tokens, &out[i]);
    });
    return out;
}

}  // namespace crayon
