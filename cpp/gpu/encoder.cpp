#include "encoder.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "crayon/support/error.h"
#include "partition.h"

namespace crayon {
namespace gpu {

namespace {

constexpr uint32_t kMostCached = uint32_t(1) << 17;  // cached words, of 4 MiB in all
constexpr uint64_t kLeastElements = 1 << 12;         // smaller partitions are not tried if memory is short

// Appends the splits of the next `texts` texts. `part` counts from the first id of these texts.
void append_splits(std::vector<int64_t>* splits, const int64_t* part, size_t texts) {
    const int64_t before = splits->back();
    for (size_t i = 1; i <= texts; ++i) splits->push_back(before + part[i]);
}

// Returns the number of words in the cache of merged words: it takes at most half a byte per element (byte of text).
uint32_t cached_words(uint64_t elements) {
    uint32_t words = kCacheWays;
    while (words < kMostCached && words * 2 <= elements / 64) words *= 2;
    return words;
}

// Reserves room for the ids of the remaining bytes, estimated from the finished ones.
void reserve_rest(IdBuffer* ids, uint64_t done, uint64_t left) {
    if (done == 0 || left == 0) return;
    try {
        ids->reserve_more(size_t(double(ids->size()) / double(done) * 1.0625 * double(left)) + 1);
    } catch (const std::bad_alloc&) {
        // The room is only an estimate, so a failure is harmless.
    }
}

void count(const FlatTexts& texts, const PartitionRun& run, size_t first, size_t last, EncodeReport* report) {
    const Totals& totals = run.totals();
    report->bytes += size_t(texts.offsets[last] - texts.offsets[first]);
    report->pretokens += totals.pretokens;
    report->ids += totals.ids;
    report->merged_pretokens += size_t(totals.n_short) + totals.n_middle + totals.n_long;
    report->merged_bytes += totals.merged_bytes;
    report->host_pretokens += run.host_pretokens();
    report->host_documents += run.host_documents();
    report->longest_walk = std::max<size_t>(report->longest_walk, totals.longest_walk);
}

}  // namespace

// Texts [first, last) of a batch. `on_cpu`: a single text that is too large for a partition.
struct Encoder::Partition {
    size_t first, last;
    bool on_cpu;
};

struct Encoder::Lane {
    Lane(const Engine& engine, const PoolPtr& pool, uint32_t cached_words) : run(engine, pool, cached_words) {}
    PartitionRun run;
};

// Why run_from stopped early, and the partition that was not delivered.
struct Encoder::Failure {
    std::exception_ptr error;
    Partition partition{};

    bool is_out_of_memory() const {
        try {
            std::rethrow_exception(error);
        } catch (const DeviceError& device_error) {
            return device_error.status() == Status::out_of_memory;
        } catch (...) {
            return false;
        }
    }
};

Encoder::Encoder(std::shared_ptr<const Engine> engine, Device* device, Capacity capacity)
    : engine_(std::move(engine)),
      device_(device),
      results_(std::make_shared<Pool>(device)),
      working_(std::make_shared<Pool>(device, results_)),
      side_(device),
      vocabulary_(*engine_, results_, side_),
      reader_(working_) {
    set_capacity(capacity);
}

Encoder::~Encoder() = default;

// -- memory

void Encoder::clear_lanes() {
    lanes_.clear();
    reader_.trim();
    working_->trim();
    results_->trim();
}

// Returns how many elements (bytes of text) fit into the device's free memory and the memory of the lanes.
uint64_t Encoder::elements_that_fit() const {
    size_t free = 0, total = 0;
    check(*device_, device_->memory(&free, &total), "asking for free memory");
    return std::min<uint64_t>(capacity_.elements, (free + working_->bytes()) / capacity_.lanes / kBytesOfElement);
}

void Encoder::set_capacity(Capacity capacity) {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    clear_lanes();
    capacity.lanes = std::max<uint32_t>(capacity.lanes, 1);
    capacity_ = capacity;
    elements_ = elements_that_fit();
}

void Encoder::trim() {
    const std::unique_lock<std::mutex> idle(mutex_, std::try_to_lock);
    if (idle.owns_lock()) clear_lanes();
}

// -- partitions

std::vector<Encoder::Partition> Encoder::plan(const FlatTexts& texts, size_t first) const {
    std::vector<Partition> partitions;
    // The number of ids of normalized texts must fit 32 bits, too.
    const uint64_t most = vocabulary_.tables().stable_chars != nullptr ? kMostBytes / kMostGrowth : kMostBytes;
    const auto size_of = [&](size_t from, size_t to) { return texts.offsets[to] - texts.offsets[from]; };
    while (first < texts.count) {
        size_t last = first + 1;
        if (size_of(first, last) > most) {
            partitions.push_back({first, last, true});
        } else {
            const auto fits = [&](size_t end) {
                return size_of(first, end) <= most && end - first < kMostBytes &&
                       size_of(first, end) + (end - first) * uint64_t(capacity_.margin) <= elements_;
            };
            while (last < texts.count && fits(last + 1)) ++last;
            partitions.push_back({first, last, false});
        }
        first = last;
    }
    return partitions;
}

// Calls on_done(partition, lane) with all partitions in order, one at a time, each text once. on_done changes nothing
// if it throws. If memory is short, cuts the remaining texts into smaller partitions.
template <typename OnDone>
void Encoder::run(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report, OnDone&& on_done) {
    if (texts.count == 0) return;
    const auto elements_of = [&](size_t from, size_t to) {
        return texts.offsets[to] - texts.offsets[from] + (to - from) * uint64_t(capacity_.margin);
    };
    // Memory may have been freed since the last batch reduced elements_.
    if (elements_ < capacity_.elements && elements_of(0, texts.count) > elements_) elements_ = elements_that_fit();

    uint32_t lanes = capacity_.lanes;
    bool is_alone = false;  // whether the last try ran while the encoder held no other memory
    for (size_t first = 0; first < texts.count;) {
        const Failure failure = run_from(first, lanes, texts, options, report, on_done);
        if (!failure.error) return;
        const Partition& p = failure.partition;
        if (!failure.is_out_of_memory()) std::rethrow_exception(failure.error);
        const bool is_progress = p.first > first;
        first = p.first;
        const uint64_t size = elements_of(p.first, p.last);
        const bool can_be_cut = p.last - p.first > 1 && size > kLeastElements;
        if (!can_be_cut && is_alone && !is_progress) std::rethrow_exception(failure.error);
        clear_lanes();
        if (reclaim_) reclaim_();
        lanes = 1;
        is_alone = true;
        const uint64_t least = std::min(kLeastElements, capacity_.elements);
        elements_ = std::max(std::min(elements_that_fit(), can_be_cut ? size / 2 : size), least);
    }
}

// Runs partitions from text `first` on, alternating between lanes, so that other partitions run while one is delivered.
template <typename OnDone>
Encoder::Failure Encoder::run_from(size_t first, uint32_t lanes, const FlatTexts& texts, const EncodeOptions& options,
                                   EncodeReport* report, OnDone&& on_done) {
    const std::vector<Partition> partitions = plan(texts, first);
    const size_t n_lanes = std::min<size_t>(lanes, partitions.size());
    Failure failed;
    failed.partition = partitions[0];
    try {
        while (lanes_.size() < n_lanes)
            lanes_.push_back(std::make_unique<Lane>(*engine_, working_, cached_words(elements_)));
    } catch (...) {
        failed.error = std::current_exception();
        return failed;
    }
    Tables tables = vocabulary_.tables();
    // If special tokens are plain text, a document that contains one is left to the CPU.
    tables.added_is_plain = tables.added_is_plain && !options.special_as_text;

    std::mutex mutex;
    std::condition_variable turn;
    size_t next = 0;  // the partition whose result is delivered next
    const auto work = [&](size_t lane) {
        for (size_t i = lane; i < partitions.size(); i += n_lanes) {
            const Partition& p = partitions[i];
            std::exception_ptr error;
            try {
                const FlatTexts part{texts.bytes,     texts.offsets + p.first, p.last - p.first,
                                     texts.on_device, texts.first + p.first,   texts.stream};
                if (!p.on_cpu) lanes_[lane]->run.encode(part, tables, options);
            } catch (...) {
                error = std::current_exception();
            }
            std::unique_lock<std::mutex> lock(mutex);
            turn.wait(lock, [&] { return next == i || failed.error; });
            if (failed.error) return;
            try {
                if (error) std::rethrow_exception(error);
                on_done(p, *lanes_[lane]);
                if (report != nullptr) {
                    ++report->partitions;
                    if (!p.on_cpu) count(texts, lanes_[lane]->run, p.first, p.last, report);
                }
            } catch (...) {
                failed = {std::current_exception(), p};
            }
            ++next;
            turn.notify_all();
            if (failed.error) return;
        }
    };
    std::vector<std::thread> threads;
    try {
        for (size_t lane = 1; lane < n_lanes; ++lane) threads.emplace_back(work, lane);
        work(0);
    } catch (...) {  // no thread could be started
        const std::lock_guard<std::mutex> lock(mutex);
        failed.error = std::current_exception();
        turn.notify_all();
    }
    for (std::thread& thread : threads) thread.join();
    // Other work may use the lanes' memory from now on.
    if (failed.error)
        for (const auto& lane : lanes_) (void)device_->wait(lane->run.stream());
    return failed;
}

Ragged Encoder::encode_on_cpu(const FlatTexts& texts, const Partition& p, const EncodeOptions& options) const {
    const uint64_t first = texts.offsets[p.first];
    const size_t size = size_t(texts.offsets[p.last] - first);
    std::vector<uint8_t> copy;
    const uint8_t* bytes = texts.bytes + first;
    if (texts.on_device) {
        copy.resize(size);
        const Settled on_its_way(device_, side_);
        check(*device_, device_->after(side_, texts.stream), "waiting for text");
        check(*device_, device_->to_host(copy.data(), bytes, size, side_), "reading text");
        side_.wait("reading text");
        bytes = copy.data();
    }
    check_utf8(Bytes(bytes, size), texts.first + p.first);
    return crayon::encode_ragged(*engine_, {{bytes, size, 0}}, options, 0);
}

// -- results

// Appends the ids and splits of a partition to `made`. Changes nothing if it throws.
void Encoder::append(const FlatTexts& texts, const Partition& p, Lane& lane, const EncodeOptions& options,
                     Ragged* made) {
    if (p.on_cpu) {
        const Ragged one = encode_on_cpu(texts, p, options);
        made->ids.append(one.ids.data(), one.ids.size());
        append_splits(&made->splits, one.splits.data(), 1);
        return;
    }
    PartitionRun& run = lane.run;
    const size_t n = run.n_ids(), before = made->splits.size(), texts_of_part = p.last - p.first;
    check(*device_, device_->wait(run.stream()), "encoding");
    made->ids.reserve_more(n + 1);
    try {
        reader_.read(made->ids.end(), run.ids(), n * sizeof(int32_t));
        const int64_t base = made->splits.back();
        made->splits.resize(before + texts_of_part);
        int64_t* const splits = &made->splits[before - 1];  // the split before the partition's first text is already
                                                            // there
        reader_.read(splits + 1, run.row_splits() + 1, texts_of_part * sizeof *splits);
        for (size_t i = 1; i <= texts_of_part; ++i) splits[i] += base;
    } catch (...) {
        made->splits.resize(before);
        throw;
    }
    made->ids.advance(n);
    if (p.first == 0)
        reserve_rest(&made->ids, texts.offsets[p.last] - texts.offsets[0],
                     texts.offsets[texts.count] - texts.offsets[p.last]);
}

Ragged Encoder::encode_ragged(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report) {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    Ragged made;
    made.splits.reserve(texts.count + 1);
    made.splits.push_back(0);
    run(texts, options, report, [&](const Partition& p, Lane& lane) { append(texts, p, lane, options, &made); });
    if (made.ids.capacity() / 2 > made.ids.size()) made.ids.shrink_to_fit();  // the estimate was too large
    return made;
}

// The result of a partition, on the device.
struct Encoder::PartitionResult {
    explicit PartitionResult(const PoolPtr& pool) : ids(pool), splits(pool) {}
    Buffer<int32_t> ids;
    Buffer<int64_t> splits;
    size_t n_ids = 0, n_texts = 0;
};

// Copies a partition's result to memory of the result's size. The lane keeps its own memory, which may be far larger.
Encoder::PartitionResult Encoder::take_part(const FlatTexts& texts, const Partition& p, Lane& lane,
                                            const EncodeOptions& options) {
    PartitionResult part(results_);
    part.n_texts = p.last - p.first;
    const auto make = [&](size_t n_ids) {
        part.n_ids = n_ids;
        part.ids.make_room(n_ids);
        part.splits.make_room(part.n_texts + 1);
    };
    const size_t bytes_of_splits = (part.n_texts + 1) * sizeof(int64_t);
    if (p.on_cpu) {
        const Ragged one = encode_on_cpu(texts, p, options);
        const Settled on_its_way(device_, side_);
        make(one.ids.size());
        check(*device_, device_->to_device(part.ids.data(), one.ids.data(), part.n_ids * sizeof(int32_t), side_),
              "copying ids");
        check(*device_, device_->to_device(part.splits.data(), one.splits.data(), bytes_of_splits, side_),
              "copying row splits");
        side_.wait("copying ids");
        return part;
    }
    const PartitionRun& run = lane.run;
    const Settled on_its_way(device_, run.stream());
    make(run.n_ids());
    check(*device_, device_->copy(part.ids.data(), run.ids(), part.n_ids * sizeof(int32_t), run.stream()),
          "copying ids");
    check(*device_, device_->copy(part.splits.data(), run.row_splits(), bytes_of_splits, run.stream()),
          "copying row splits");
    check(*device_, device_->wait(run.stream()), "encoding");
    return part;
}

DeviceRagged Encoder::join(std::vector<PartitionResult>* parts) {
    DeviceRagged made(results_);
    std::vector<int64_t> splits{0};
    const Settled on_its_way(device_, side_);
    for (const PartitionResult& part : *parts) {
        made.n_ids += part.n_ids;
        if (parts->size() == 1) break;
        std::vector<int64_t> own(part.n_texts + 1);
        reader_.read(own.data(), part.splits.data(), own.size() * sizeof own[0]);
        append_splits(&splits, own.data(), part.n_texts);
    }
    if (parts->size() == 1) {
        made.ids = std::move(parts->front().ids);
        made.row_splits = std::move(parts->front().splits);
        return made;
    }
    int32_t* to = made.ids.make_room(made.n_ids);
    for (PartitionResult& part : *parts) {
        check(*device_, device_->copy(to, part.ids.data(), part.n_ids * sizeof *to, side_), "joining ids");
        to += part.n_ids;
    }
    int64_t* const row_splits = made.row_splits.make_room(splits.size());
    check(*device_, device_->to_device(row_splits, splits.data(), splits.size() * sizeof *row_splits, side_),
          "copying row splits");
    side_.wait("encoding");
    return made;
}

DeviceRagged Encoder::encode_on_device(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report) {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    std::vector<PartitionResult> parts;
    run(texts, options, report,
        [&](const Partition& p, Lane& lane) { parts.push_back(take_part(texts, p, lane, options)); });
    try {
        return join(&parts);
    } catch (const DeviceError& error) {
        if (error.status() != Status::out_of_memory) throw;
        clear_lanes();
        if (reclaim_) reclaim_();
        return join(&parts);
    }
}

}  // namespace gpu
}  // namespace crayon
