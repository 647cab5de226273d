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

// The splits of a next part, which count from its own first id.
void append_splits(std::vector<int64_t>* splits, const int64_t* part, size_t texts) {
    const int64_t before = splits->back();
    for (size_t i = 1; i <= texts; ++i) splits->push_back(before + part[i]);
}

}  // namespace

// Texts [first, last) of a batch. `on_cpu`: one that is too large for any partition.
struct Encoder::Partition {
    size_t first, last;
    bool on_cpu;
};

struct Encoder::Lane {
    Lane(const Engine& engine, Device* device) : run(engine, device), ids(device), splits(device) {}
    PartitionRun run;
    // Through which what is made reaches the host.
    Buffer<int32_t, true> ids;
    Buffer<int64_t, true> splits;
};

Encoder::Encoder(std::shared_ptr<const Engine> engine, Device* device, Capacity capacity)
    : engine_(std::move(engine)), device_(device), side_(device), vocabulary_(*engine_, device, side_) {
    set_capacity(capacity);
}

Encoder::~Encoder() = default;

void Encoder::set_capacity(Capacity capacity) {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    lanes_.clear();
    capacity.lanes = std::max<uint32_t>(capacity.lanes, 1);
    size_t free = 0, total = 0;
    check(*device_, device_->memory(&free, &total), "asking for free memory");
    capacity.elements = std::min<uint64_t>(capacity.elements, free / capacity.lanes / kBytesOfElement);
    capacity_ = capacity;
}

std::vector<Encoder::Partition> Encoder::plan(const FlatTexts& texts) const {
    std::vector<Partition> partitions;
    // Ids of normalized texts are counted in 32 bits, too.
    const uint64_t most = vocabulary_.tables().stable_chars != nullptr ? kMostBytes / kMostGrowth : kMostBytes;
    const auto size_of = [&](size_t from, size_t to) { return texts.offsets[to] - texts.offsets[from]; };
    for (size_t first = 0; first < texts.count;) {
        size_t last = first + 1;
        if (size_of(first, last) > most) {
            partitions.push_back({first, last, true});
        } else {
            const auto fits = [&](size_t end) {
                return size_of(first, end) <= most && end - first < kMostBytes &&
                       size_of(first, end) + (end - first) * uint64_t(capacity_.margin) <= capacity_.elements;
            };
            while (last < texts.count && fits(last + 1)) ++last;
            partitions.push_back({first, last, false});
        }
        first = last;
    }
    return partitions;
}

// Partitions go through the lanes in turn; on_done(partition, run or null) gets them in order, one at a time, while the
// next ones are on their way.
template <typename OnDone>
void Encoder::run(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report, OnDone&& on_done) {
    const std::vector<Partition> partitions = plan(texts);
    const size_t n_lanes = std::min<size_t>(capacity_.lanes, partitions.size());
    while (lanes_.size() < n_lanes) lanes_.push_back(std::make_unique<Lane>(*engine_, device_));
    Tables tables = vocabulary_.tables();
    // Special tokens that are text could be any part of it: then the CPU looks at them.
    tables.added_is_plain = tables.added_is_plain && !options.special_as_text;

    std::mutex mutex;
    std::condition_variable turn;
    size_t next = 0;  // partition to be done
    std::exception_ptr failed;
    const auto work = [&](size_t lane) {
        for (size_t i = lane; i < partitions.size(); i += n_lanes) {
            const Partition& p = partitions[i];
            std::exception_ptr error;
            try {
                FlatTexts part{texts.bytes,     texts.offsets + p.first, p.last - p.first,
                               texts.on_device, texts.first + p.first,   texts.stream};
                if (!p.on_cpu) lanes_[lane]->run.encode(part, tables, options);
            } catch (...) {
                error = std::current_exception();
            }
            std::unique_lock<std::mutex> lock(mutex);
            turn.wait(lock, [&] { return next == i || failed; });
            if (failed) return;
            try {
                if (error) std::rethrow_exception(error);
                on_done(p, *lanes_[lane]);
                if (report != nullptr && !p.on_cpu) {
                    const PartitionRun& run = lanes_[lane]->run;
                    const Totals& totals = run.totals();
                    report->bytes += size_t(texts.offsets[p.last] - texts.offsets[p.first]);
                    report->pretokens += totals.pretokens;
                    report->ids += totals.ids;
                    report->merged_pretokens += size_t(totals.n_short) + totals.n_middle + totals.n_long;
                    report->merged_bytes += totals.merged_bytes;
                    report->host_pretokens += run.host_pretokens();
                    report->host_documents += run.host_documents();
                }
            } catch (...) {
                failed = std::current_exception();
            }
            ++next;
            turn.notify_all();
            if (failed) return;
        }
    };
    if (report != nullptr) report->partitions += partitions.size();
    std::vector<std::thread> threads;
    try {
        for (size_t lane = 1; lane < n_lanes; ++lane) threads.emplace_back(work, lane);
        if (n_lanes > 0) work(0);
    } catch (...) {  // no thread could be started
        const std::lock_guard<std::mutex> lock(mutex);
        failed = std::current_exception();
        turn.notify_all();
    }
    for (std::thread& thread : threads) thread.join();
    if (failed) std::rethrow_exception(failed);
}

Ragged Encoder::encode_on_cpu(const FlatTexts& texts, const Partition& p, const EncodeOptions& options) const {
    const uint64_t first = texts.offsets[p.first];
    const size_t size = size_t(texts.offsets[p.last] - first);
    std::vector<uint8_t> copy;
    const uint8_t* bytes = texts.bytes + first;
    if (texts.on_device) {
        copy.resize(size);
        check(*device_, device_->after(side_, texts.stream), "waiting for text");
        check(*device_, device_->to_host(copy.data(), bytes, size, side_), "reading text");
        side_.wait("reading text");
        bytes = copy.data();
    }
    check_utf8(Bytes(bytes, size), texts.first + p.first);
    return crayon::encode_ragged(*engine_, {{bytes, size, 0}}, options, 0);
}

Ragged Encoder::encode_ragged(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report) {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    Ragged made;
    made.splits.reserve(texts.count + 1);
    made.splits.push_back(0);
    run(texts, options, report, [&](const Partition& p, Lane& lane) {
        if (p.on_cpu) {
            const Ragged one = encode_on_cpu(texts, p, options);
            made.ids.append(one.ids.data(), one.ids.size());
            append_splits(&made.splits, one.splits.data(), 1);
            return;
        }
        PartitionRun& run = lane.run;
        const size_t n = run.n_ids(), count = p.last - p.first;
        int32_t* const ids = lane.ids.make_room(n);
        int64_t* const splits = lane.splits.make_room(count + 1);
        check(*device_, device_->to_host(ids, run.ids(), n * sizeof *ids, run.stream()), "reading ids");
        check(*device_, device_->to_host(splits, run.row_splits(), (count + 1) * sizeof *splits, run.stream()),
              "reading row splits");
        check(*device_, device_->wait(run.stream()), "encoding");
        made.ids.append(ids, n);
        append_splits(&made.splits, splits, count);
    });
    return made;
}

DeviceRagged Encoder::encode_on_device(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report) {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    DeviceRagged made(device_);
    std::vector<int64_t> splits{0};
    std::vector<std::pair<Buffer<int32_t>, size_t>> parts;
    run(texts, options, report, [&](const Partition& p, Lane& lane) {
        if (p.on_cpu) {
            const Ragged one = encode_on_cpu(texts, p, options);
            Buffer<int32_t> ids(device_);
            ids.make_room(one.ids.size());
            check(*device_, device_->to_device(ids.data(), one.ids.data(), one.ids.size() * sizeof(int32_t), side_),
                  "copying ids");
            side_.wait("copying ids");
            made.n_ids += one.ids.size();
            append_splits(&splits, one.splits.data(), 1);
            parts.emplace_back(std::move(ids), one.ids.size());
            return;
        }
        PartitionRun& run = lane.run;
        const size_t count = p.last - p.first;
        int64_t* const own = lane.splits.make_room(count + 1);
        check(*device_, device_->to_host(own, run.row_splits(), (count + 1) * sizeof *own, run.stream()),
              "reading row splits");
        check(*device_, device_->wait(run.stream()), "encoding");
        append_splits(&splits, own, count);
        made.n_ids += run.n_ids();
        const size_t n = run.n_ids();
        parts.emplace_back(run.take_ids(), n);
    });
    if (parts.size() == 1) {
        made.ids = std::move(parts[0].first);
    } else {
        int32_t* to = made.ids.make_room(made.n_ids);
        for (auto& part : parts) {
            check(*device_, device_->copy(to, part.first.data(), part.second * sizeof *to, side_), "joining ids");
            to += part.second;
        }
    }
    int64_t* const to = made.row_splits.make_room(splits.size());
    check(*device_, device_->to_device(to, splits.data(), splits.size() * sizeof *to, side_), "copying row splits");
    side_.wait("encoding");
    return made;
}

}  // namespace gpu
}  // namespace crayon
