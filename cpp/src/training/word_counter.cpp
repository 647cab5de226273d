#include "crayon/training/word_counter.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "crayon/encode/run/thread_count.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "encode/plan/text_tasks.h"
#include "encode/run/task_runner.h"
#include "training/word_tally.h"

namespace crayon {
namespace {

constexpr std::chrono::milliseconds kBetweenReports(100);
// Bytes before the planned end of a task of lines in which the real end is searched.
constexpr size_t kNear = size_t(1) << 14;
// From this many unique words on, threads merge the tables.
constexpr size_t kManyWords = size_t(1) << 15;

[[noreturn]] void not_utf8(const std::string& what, size_t at) {
    throw Error(ErrorKind::utf8, what + " not UTF-8: invalid byte at offset " + std::to_string(at));
}

}  // namespace

struct WordCounter::Impl {
    Impl(std::shared_ptr<const Engine> e, size_t n, bool with_added)
        : engine(std::move(e)),
          threads(thread_count(n)),
          counts_added(with_added),
          seams(Seams::of_words(engine->impl().pipeline, *engine->impl().vocabulary)) {}

    const std::shared_ptr<const Engine> engine;
    const size_t threads;
    const bool counts_added;
    const Seams seams;
    WordCountTable counted;
    std::vector<std::unique_ptr<WordTally>> tallies;  // one per thread; empty between calls
    std::chrono::steady_clock::time_point reported = std::chrono::steady_clock::now();
};

// Counts the words of one call in separate tables. commit() adds these counts to the counter's table.
class WordCounter::Call {
  public:
    Call(WordCounter* counter, const Progress& progress, uint64_t total)
        : counter_(*counter), p_(*counter->impl_), progress_(progress), to_do_(total) {}
    ~Call() {
        for (const auto& tally : p_.tallies)
            if (tally != nullptr) tally->clear();
    }

    // Runs work(task, worker, poll) for n tasks.
    template <typename Work>
    void run(size_t n, Work&& work) {
        const size_t threads = std::max<size_t>(std::min(p_.threads, n), 1);
        if (p_.tallies.size() < threads) p_.tallies.resize(threads);
        std::vector<std::unique_ptr<Worker>> workers(threads);
        const auto with_worker = [&](size_t task, size_t i, const Poll& poll) {
            if (p_.tallies[i] == nullptr) p_.tallies[i] = std::make_unique<WordTally>(p_.counts_added);
            if (workers[i] == nullptr) workers[i] = std::make_unique<Worker>(*p_.engine);
            work(task, *p_.tallies[i], *workers[i]->lease, &workers[i]->reader, poll);
        };
        run_watched(n, threads, with_worker, [&] { report("counting words", done_, to_do_); });
    }
    void advance(uint64_t n) { done_ += n; }
    void commit();

  private:
    struct Worker {
        explicit Worker(const Engine& engine) : lease(engine) {}
        Engine::Lease lease;
        Utf8Reader reader;
    };
    // The changes to a shard of the counter's table, kept to undo them on failure.
    struct Merge {
        bool is_adopted = false;   // the shard was empty and took over the largest tally's
        std::vector<size_t> done;  // how many words of each tally were added
    };

    void report(const char* stage, uint64_t done, uint64_t total) {
        const auto now = std::chrono::steady_clock::now();
        if (now - p_.reported < kBetweenReports) return;
        p_.reported = now;
        if (progress_) progress_(stage, done, total);
    }
    void merge(size_t shard, Merge* merge);
    void undo(size_t shard, const Merge& merge);

    WordCounter& counter_;
    Impl& p_;
    const Progress& progress_;
    const uint64_t to_do_;
    std::atomic<uint64_t> done_{0};
};

void WordCounter::Call::merge(size_t shard, Merge* merge) {
    WordCountShard& into = p_.counted.shard(shard);
    const auto has_words = [&](const auto& tally) { return tally != nullptr && !tally->table.shard(shard).empty(); };
    if (std::none_of(p_.tallies.begin(), p_.tallies.end(), has_words)) return;
    merge->done.assign(p_.tallies.size(), 0);
    if (into.empty()) {
        WordCountShard* largest = &into;
        for (const auto& tally : p_.tallies)
            if (tally != nullptr && tally->table.shard(shard).size() > largest->size())
                largest = &tally->table.shard(shard);
        merge->is_adopted = true;
        into.swap(*largest);
    }
    for (size_t t = 0; t < p_.tallies.size(); ++t)
        if (p_.tallies[t] != nullptr) into.absorb(p_.tallies[t]->table.shard(shard), &merge->done[t]);
}

void WordCounter::Call::undo(size_t shard, const Merge& merge) {
    WordCountShard& into = p_.counted.shard(shard);
    if (merge.is_adopted) return into.clear();
    for (size_t t = 0; t < merge.done.size(); ++t)
        if (merge.done[t] > 0) into.take_back(p_.tallies[t]->table.shard(shard), merge.done[t]);
}

void WordCounter::Call::commit() {
    constexpr size_t kShards = WordCountTable::kShards;
    uint64_t total = 0, bytes = 0;
    size_t unique = 0;
    for (const auto& tally : p_.tallies) {
        if (tally == nullptr) continue;
        tally->flush();
        if (tally->total > UINT64_MAX - counter_.total_ - total)
            throw Error(ErrorKind::argument, "more than 2^64 - 1 words cannot be counted");
        total += tally->total;
        bytes += tally->bytes;
        unique += tally->table.size();
    }
    Merge merges[kShards];
    std::atomic<uint64_t> merged{0};
    const auto work = [&](size_t shard, size_t, const Poll&) {
        merge(shard, &merges[shard]);
        ++merged;
    };
    try {
        // A small merge ends before a thread would start, and needs no progress reports.
        if (unique < kManyWords)
            for (size_t shard = 0; shard < kShards; ++shard) merge(shard, &merges[shard]);
        else
            run_watched(kShards, p_.threads, work, [&] { report("merging counts", merged, kShards); });
    } catch (...) {
        for (size_t shard = 0; shard < kShards; ++shard) undo(shard, merges[shard]);
        throw;
    }
    counter_.unique_ = p_.counted.size();
    counter_.total_ += total;
    counter_.bytes_ += bytes;
}

WordCounter::WordCounter(std::shared_ptr<const Engine> engine, size_t threads, bool added_tokens) {
    if (engine->is_greedy())
        throw Error(ErrorKind::argument, "an engine in greedy mode has no pretokens to count: use the exact one");
    impl_ = std::make_unique<Impl>(std::move(engine), threads, added_tokens);
}

WordCounter::~WordCounter() = default;

void WordCounter::add(const std::vector<TextView>& texts, const Progress& progress) {
    uint64_t total = 0;
    for (const TextView& text : texts) total += text.bytes();
    Call call(this, progress, total);
    const Engine& engine = *impl_->engine;
    const std::vector<Task> tasks = make_word_tasks(impl_->seams, texts);
    call.run(tasks.size(), [&](size_t t, WordTally& tally, Scratch& scratch, Utf8Reader* reader, const Poll& poll) {
        const Task& task = tasks[t];
        uint64_t done = 0;
        for (size_t i = task.begin; i < task.end; ++i) {
            const TextView& view = texts[i];
            const size_t from = task.from, to = task.is_part ? task.to : view.size;
            const Bytes text = reader->read(view, from, to);
            if (view.width == 0) {
                const size_t bad = utf8_error(text.data, text.size);
                if (bad != text.size) not_utf8("item " + std::to_string(i) + " of the texts is", from + bad);
            }
            tally.count(engine, text, from > 0, text, scratch, poll);
            done += (to - from) * (view.width == 0 ? 1 : view.width);
        }
        call.advance(done);
    });
    call.commit();
}

namespace {

// Divides text into tasks of about kPartUnits bytes. A task ends where a line ends or, inside a long line, at a seam.
class LineTasks {
  public:
    LineTasks(Bytes data, const Seams& seams) : data_(data), seams_(seams) {}

    struct Cut {
        size_t at;
        bool continues;  // whether the task begins inside a line
    };
    size_t size() const { return (data_.size + kPartUnits - 1) / kPartUnits; }
    // Returns the start of task i, or nullopt if the previous task includes it. The result depends only on i, so all
    // threads find the same.
    std::optional<Cut> begin(size_t i) const {
        if (i == 0) return Cut{0, false};
        if (i == size()) return Cut{data_.size, false};
        const size_t to = i * kPartUnits;
        for (size_t at = to; at > to - kNear; --at)
            if (data_[at - 1] == '\n') return Cut{at, false};
        const size_t seam = SeamFinder(seams_, data_).previous(to - kNear, to);
        if (seam == to - kNear) return std::nullopt;
        return Cut{seam, true};
    }
    size_t end(size_t i) const {
        for (;;)
            if (const std::optional<Cut> cut = begin(++i)) return cut->at;
    }

  private:
    const Bytes data_;
    const Seams& seams_;
};

}  // namespace

void WordCounter::add_lines(Bytes data, const Progress& progress) {
    Call call(this, progress, data.size);
    const Engine& engine = *impl_->engine;
    const LineTasks tasks(data, impl_->seams);
    call.run(tasks.size(), [&](size_t i, WordTally& tally, Scratch& scratch, Utf8Reader*, const Poll& poll) {
        const std::optional<LineTasks::Cut> begin = tasks.begin(i);
        if (!begin) return;
        const size_t end = tasks.end(i);
        bool continues = begin->continues;
        for (size_t at = begin->at; at < end;) {
            const void* const found = std::memchr(data.data + at, '\n', end - at);
            const size_t stop = found ? size_t(static_cast<const uint8_t*>(found) - data.data) + 1 : end;
            const Bytes line = data.slice(at, stop);
            const size_t bad = utf8_error(line.data, line.size);
            if (bad != line.size) not_utf8("the data is", at + bad);
            tally.count(engine, line, continues, data, scratch, poll);
            continues = false;
            at = stop;
        }
        call.advance(end - begin->at);
    });
    call.commit();
}

void WordCounter::add_words(const std::vector<CountedWord>& words) {
    const Progress none;
    Call call(this, none, 0);
    call.run(1, [&](size_t, WordTally& tally, Scratch&, Utf8Reader*, const Poll&) {
        for (const CountedWord& word : words) {
            if (word.text.empty() || word.count == 0) continue;
            if (word.count > UINT64_MAX - tally.total)
                throw Error(ErrorKind::argument, "more than 2^64 - 1 words cannot be counted");
            tally.add(word.text, word.is_raw ? 0 : kTextWord, word.count);
            tally.bytes += word.text.size * word.count;
        }
    });
    call.commit();
}

std::vector<CountedWord> WordCounter::words() const {
    std::vector<CountedWord> out;
    out.reserve(unique());
    for (size_t shard = 0; shard < WordCountTable::kShards; ++shard)
        impl_->counted.shard(shard).for_each([&](const WordCount& entry) {
            out.push_back({WordCountShard::text_of(entry), entry.count, (entry.hi & kTextWord) == 0});
        });
    return out;
}

}  // namespace crayon
