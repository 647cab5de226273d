#include "crayon/encode/sinks/batch.h"

#include <algorithm>
#include <new>
#include <utility>

#include "encode/sinks/encode_texts.h"
#include "engine/engine_impl.h"

namespace crayon {
namespace {

// Reserves room for the ids of the remaining bytes, estimated from the finished ones. Growing step by step would copy,
// and touch new pages each time. Unused reserved memory is never touched. A failed reservation is ignored, because the
// room may not be needed.
void reserve_rest(IdBuffer* ids, size_t done, size_t left) {
    if (done == 0) return;
    const double for_byte = std::min(0.5, double(ids->size()) / double(done));
    try {
        ids->reserve_more(size_t(for_byte * 1.0625 * double(left)));
    } catch (const std::bad_alloc&) {
    }
}

// Frees room that a much too large estimate reserved.
void give_back_rest(IdBuffer* ids) {
    constexpr size_t kLarge = size_t(1) << 18;
    if (ids->capacity() > kLarge && ids->capacity() / 2 > ids->size()) ids->shrink_to_fit();
}

size_t bytes_of(const std::vector<TextView>& texts, const Task& task) {
    size_t bytes = 0;
    for (size_t i = task.begin; i < task.end; ++i) bytes += texts[i].bytes();
    if (task.is_part) bytes = size_t(double(bytes) * double(task.to - task.from) / double(texts[task.begin].size));
    return bytes;
}

}  // namespace

Ragged encode_ragged(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                     size_t threads) {
    Ragged out;
    out.splits.reserve(texts.size() + 1);
    out.splits.push_back(0);
    const size_t bytes = bytes_of(texts);
    bool is_utf8 = true;
    for (const TextView& text : texts) is_utf8 &= text.width == 0;
    if (is_utf8 && (thread_count(threads, bytes) == 1 || bytes < kTaskBytes)) {
        const Engine::Lease lease(engine);
        size_t done = 0, looked = 0;
        InterruptWatch interrupts;
        for (const TextView& text : texts) {
            engine.encode_ids({static_cast<const uint8_t*>(text.data), text.size}, options, *lease, &out.ids);
            out.splits.push_back(int64_t(out.ids.size()));
            const size_t before = done;
            done += text.size;
            if (before < kTaskBytes && done >= kTaskBytes) reserve_rest(&out.ids, done, bytes - done);
            if (done - looked < kTaskBytes) continue;
            looked = done;
            interrupts.look_now_and_then();
        }
        give_back_rest(&out.ids);
        return out;
    }
    size_t done = 0;
    encode_texts(engine, texts, options, threads, 1, [&](const Task* tasks, const auto* parts, size_t n) {
        const size_t before_all = done;
        for (size_t t = 0; t < n; ++t) {
            const TextIds& part = *parts[t];
            const int64_t before = int64_t(out.ids.size());
            out.ids.append(part.ids.data(), part.ids.size());
            if (tasks[t].is_last)
                for (const size_t end : part.ends) out.splits.push_back(before + int64_t(end));
            done += bytes_of(texts, tasks[t]);
        }
        if (before_all == 0) reserve_rest(&out.ids, done, bytes - done);
    });
    give_back_rest(&out.ids);
    return out;
}

std::vector<int64_t> count_tokens(const Engine& engine, const std::vector<TextView>& texts,
                                  const EncodeOptions& options, size_t threads) {
    std::vector<int64_t> counts(texts.size());
    const auto count = [&](const Task* tasks, const auto* parts, size_t n) {
        for_each_text(tasks, parts, n,
                      [&](size_t i, const int32_t*, size_t size, bool) { counts[i] += int64_t(size); });
    };
    encode_texts(engine, texts, options, threads, 1, count);
    return counts;
}

void encode_each(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options, size_t threads,
                 const OnReady& on_ready) {
    // The number of finished tasks that makes taking the GIL worthwhile. If another thread makes taking it slow, waits
    // for kSeldom tasks instead.
    constexpr size_t kTogether = 8, kSeldom = 256;
    size_t together = kTogether;
    std::vector<ReadyIds> ready;
    const auto list = [&](const Task* tasks, const auto* parts, size_t n) {
        ready.clear();
        for_each_text(tasks, parts, n, [&](size_t i, const int32_t* ids, size_t size, bool is_last) {
            ready.push_back({i, ids, size, is_last});
        });
        together = on_ready(ready) ? kSeldom : kTogether;
    };
    encode_texts(engine, texts, options, threads, together, list);
}

namespace {

size_t size_of(const Input& input) {
    size_t size = 0;
    for (const Bytes& part : input.first.parts) size += part.size;
    for (const Bytes& part : input.second.parts) size += part.size;
    return size;
}

const Sequence* pair_of(const Input& input) {
    return input.is_pair ? &input.second : nullptr;
}

}  // namespace

std::vector<Encoding> encode_batch(const Engine& engine, const std::vector<Input>& inputs, const EncodeOptions& options,
                                   size_t threads) {
    std::vector<Encoding> out(inputs.size());
    const auto needed = [&](size_t i) {
        const size_t part = engine.first_part(inputs[i].first, pair_of(inputs[i]), options);
        return part > 0 ? part : size_of(inputs[i]);
    };
    size_t bytes = 0;
    for (size_t i = 0; i < inputs.size(); ++i) bytes += needed(i);
    threads = thread_count(threads, bytes);
    const auto tasks = make_tasks(inputs.size(), needed, [&](size_t i) -> std::optional<SeamFinder> {
        const Input& input = inputs[i];
        const size_t size = size_of(input);
        if (threads == 1 || size < 2 * kPartUnits || size >= UINT32_MAX - 2 || needed(i) < size) return std::nullopt;
        if (input.is_pair || input.first.is_pretokenized || engine.is_random()) return std::nullopt;
        const Seams& seams = engine.impl().encoding_seams(options.special_as_text);
        if (!seams.exist()) return std::nullopt;
        return SeamFinder(seams, input.first.parts[0]);
    });
    std::vector<EncodingPart> parts(tasks.size());
    run_tasks(engine, tasks.size(), threads, [&](size_t t, Scratch& scratch) {
        const Task& task = tasks[t];
        for (size_t i = task.begin; i < task.end; ++i) {
            const Input& input = inputs[i];
            if (task.is_part)
                parts[t] =
                    engine.encode_part(input.first.parts[0].slice(task.from, task.to), options, task.from > 0, scratch);
            else
                out[i] = engine.encode(input.first, pair_of(input), options, scratch);
        }
    });
    std::vector<std::pair<size_t, size_t>> cut;  // the tasks of each text in parts
    for (size_t t = 0; t < tasks.size(); ++t) {
        if (!tasks[t].is_part) continue;
        if (tasks[t].from == 0) cut.emplace_back(t, 0);
        ++cut.back().second;
    }
    run_tasks(engine, cut.size(), threads, [&](size_t c) {
        const auto [first, n] = cut[c];
        out[tasks[first].begin] = engine.post_process(join(&parts[first], n), nullptr, options);
    });
    if (options.padding) pad(&out, *options.padding);
    return out;
}

void decode_each(const Engine& engine, const std::vector<IdView>& sequences, bool skip_special_tokens,
                 bool skip_unknown, size_t threads, const OnDecoded& on_decoded) {
    const auto tasks = make_tasks(sequences.size(), [&](size_t i) { return sequences[i].size * 4; });
    std::vector<DecodedText> out(sequences.size());
    size_t n_ids = 0;
    for (const IdView& ids : sequences) n_ids += ids.size;
    const auto decode = [&](size_t t) {
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i)
            engine.decode(sequences[i], skip_special_tokens, skip_unknown, &out[i]);
    };
    const auto take = [&](size_t from, size_t to) {
        on_decoded(tasks[from].begin, &out[tasks[from].begin], tasks[to - 1].end - tasks[from].begin);
        for (size_t i = tasks[from].begin; i < tasks[to - 1].end; ++i) out[i] = DecodedText();
    };
    run_tasks(engine, tasks.size(), thread_count(threads, 4 * n_ids), decode, 8, take);
}

}  // namespace crayon
