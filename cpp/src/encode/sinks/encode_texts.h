// Encodes a batch of texts in threads, and takes their ids in order.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "crayon/encode/run/thread_count.h"
#include "crayon/simd/kernels.h"
#include "encode/plan/text_tasks.h"
#include "engine/leased_tasks.h"

namespace crayon {

// The ids of a task's texts: those of text i end at ends[i - task.begin].
struct TextIds {
    IdBuffer ids;
    std::vector<size_t> ends;
};

// Calls visit(text, ids, count, is_last) for the results of n tasks, with the index of a text and some of its ids.
// is_last: these are the text's last ids.
template <typename Visit>
void for_each_text(const Task* tasks, const std::unique_ptr<TextIds>* made, size_t n, Visit&& visit) {
    for (size_t t = 0; t < n; ++t) {
        size_t start = 0;
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i) {
            const size_t end = made[t]->ends[i - tasks[t].begin];
            visit(i, made[t]->ids.data() + start, end - start, tasks[t].is_last);
            start = end;
        }
    }
}

// Appends the ids of a task's texts, or of its part of a text. With `utf8_error`, checks texts of bytes (width 0), and
// throws Error(utf8) for invalid text.
void encode_task(const Engine& engine, const std::vector<TextView>& texts, const Task& task,
                 const EncodeOptions& options, Utf8Error utf8_error, Utf8Reader* reader, Scratch& scratch,
                 TextIds* out);

// Encodes all texts, and calls finish(tasks, ids, count) in this thread for finished tasks in order. See
// run_in_order.
template <typename Finish>
void encode_texts(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                  size_t threads, const size_t& together, Finish&& finish, Utf8Error utf8_error = nullptr) {
    threads = thread_count(threads, bytes_of(texts));
    const std::vector<Task> tasks = make_text_tasks(engine, texts, options, threads);
    std::vector<std::unique_ptr<TextIds>> done(tasks.size());
    std::vector<std::unique_ptr<TextIds>> spare;  // memory for reuse
    std::vector<std::unique_ptr<Utf8Reader>> readers;
    std::mutex mutex;
    const auto work = [&](size_t t, Scratch& scratch) {
        std::unique_ptr<TextIds> out;
        std::unique_ptr<Utf8Reader> reader;
        {
            const std::lock_guard<std::mutex> lock(mutex);
            if (!spare.empty()) {
                out = std::move(spare.back());
                spare.pop_back();
            }
            if (!readers.empty()) {
                reader = std::move(readers.back());
                readers.pop_back();
            }
        }
        if (out == nullptr) out = std::make_unique<TextIds>();
        if (reader == nullptr) reader = std::make_unique<Utf8Reader>();
        encode_task(engine, texts, tasks[t], options, utf8_error, reader.get(), scratch, out.get());
        done[t] = std::move(out);
        const std::lock_guard<std::mutex> lock(mutex);
        readers.push_back(std::move(reader));
    };
    const auto take = [&](size_t from, size_t to) {
        finish(&tasks[from], &done[from], to - from);
        const std::lock_guard<std::mutex> lock(mutex);
        for (; from < to; ++from) {
            done[from]->ids.clear();
            done[from]->ids.trim(4 * kPartUnits);
            done[from]->ends.clear();
            spare.push_back(std::move(done[from]));
        }
    };
    run_tasks(engine, tasks.size(), threads, work, together, take);
}

}  // namespace crayon
