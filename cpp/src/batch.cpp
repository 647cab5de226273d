#include "crayon/batch.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "crayon/error.h"
#include "task_runner.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace crayon {
namespace {

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
    join_parts(tasks, &parts, &out.ids, &out.splits);
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
    if (options.padding) pad(&out, *options.padding);
    return out;
}

std::vector<std::string> decode_batch(const Engine& engine, const std::vector<Array<int64_t>>& sequences,
                                      bool skip_special_tokens, bool skip_unknown, size_t threads) {
    std::vector<std::string> out(sequences.size());
    const auto tasks = make_tasks(sequences.size(), [&](size_t i) { return sequences[i].size * 4; });
    run_tasks(engine, tasks.size(), thread_count(threads), [&](size_t t, Scratch&) {
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i)
            engine.decode(sequences[i], skip_special_tokens, skip_unknown, &out[i]);
    });
    return out;
}

}  // namespace crayon
