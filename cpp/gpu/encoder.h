// Encodes batches on a device. Divides a batch into partitions of texts that fit the device's memory, and runs several
// partitions concurrently.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "crayon/encode/sinks/batch.h"
#include "host_reader.h"
#include "vocabulary_upload.h"

namespace crayon {
namespace gpu {

// The most memory that a partition takes per byte of text: the amount if every byte is a pretoken that the word table
// lacks. It is the sum of PartitionRun's buffers, which the pool rounds up by an eighth at most.
constexpr uint64_t kBytesOfElement = 40 + 5;

// The sizes of partitions, as in the CRAYON paper. A document takes one element per byte, and `margin` more. A
// partition has documents of up to `elements` elements, or fewer if the device lacks memory when the capacity is set. A
// larger text gets a partition of its own.
struct Capacity {
    uint64_t elements = uint64_t(512) << 20;
    uint32_t margin = 64;
    uint32_t lanes = 2;  // partitions that run concurrently
};

// Concatenated texts: text i has bytes[offsets[i]] to bytes[offsets[i + 1]].
struct FlatTexts {
    const uint8_t* bytes;
    const uint64_t* offsets;  // [count + 1], on the host
    size_t count;
    bool on_device = false;   // whether the bytes are on the device
    size_t first = 0;         // number of the first text, for errors
    Stream stream = nullptr;  // of the device; may still be writing the bytes there
};

// The ids of a batch in the device's memory, and the start of each text's ids. The memory has the size of the result,
// rounded by the pool. The holder must keep the device open.
struct DeviceRagged {
    explicit DeviceRagged(const PoolPtr& pool) : ids(pool), row_splits(pool) {}
    Buffer<int32_t> ids;
    Buffer<int64_t> row_splits;
    size_t n_ids = 0;
};

// Counters of a batch, for reports.
struct EncodeReport {
    size_t partitions = 0, bytes = 0, pretokens = 0, ids = 0;
    size_t merged_pretokens = 0, merged_bytes = 0;  // merged on the device: in no table
    size_t host_pretokens = 0, host_documents = 0;  // encoded by the CPU
    size_t longest_walk = 0;                        // maximum of Totals::longest_walk
};

// Thread-safe; concurrent batches run one after the other.
class Encoder {
  public:
    // `engine` must be supported (why_unsupported), and `device` must outlive the encoder. Throws DeviceError if the
    // vocabulary does not fit the device's memory.
    Encoder(std::shared_ptr<const Engine> engine, Device* device, Capacity capacity = {});
    ~Encoder();

    // Sets the capacity of later batches. Frees the memory of earlier ones.
    void set_capacity(Capacity capacity);
    // Frees memory kept for the next batch, unless a batch is running. Never waits.
    void trim();
    // `reclaim` is called when the device has no memory left, before smaller partitions are tried. It should free
    // memory.
    void set_reclaim(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }

    // Ids and row splits as in crayon::encode_ragged. Throws DeviceError; Error(utf8) names a text that is not UTF-8.
    Ragged encode_ragged(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report = nullptr);
    DeviceRagged encode_on_device(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report = nullptr);

    const Engine& engine() const { return *engine_; }
    Device& device() const { return *device_; }
    // The stream that must wait for the work that writes texts to the device, before they are encoded.
    Stream stream() const { return side_; }
    // The pool of results, also for input that goes to the device.
    const PoolPtr& pool() const { return results_; }

  private:
    struct Lane;
    struct Partition;
    std::vector<Partition> plan(const FlatTexts& texts, size_t first) const;
    void clear_lanes();
    uint64_t elements_that_fit() const;
    template <typename OnDone>
    void run(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report, OnDone&& on_done);
    struct Failure;
    template <typename OnDone>
    Failure run_from(size_t first, uint32_t lanes, const FlatTexts& texts, const EncodeOptions& options,
                     EncodeReport* report, OnDone&& on_done);
    void append(const FlatTexts& texts, const Partition& partition, Lane& lane, const EncodeOptions& options,
                Ragged* made);
    struct PartitionResult;
    PartitionResult take_part(const FlatTexts& texts, const Partition& partition, Lane& lane,
                              const EncodeOptions& options);
    DeviceRagged join(std::vector<PartitionResult>* parts);
    Ragged encode_on_cpu(const FlatTexts& texts, const Partition& partition, const EncodeOptions& options) const;

    std::mutex mutex_;
    std::shared_ptr<const Engine> engine_;
    Device* device_;
    Capacity capacity_;
    uint64_t elements_ = 0;  // the capacity's elements, limited by the memory that was free at the last check
    std::function<void()> reclaim_;
    const PoolPtr results_;  // for results and the vocabulary
    const PoolPtr working_;  // for memory that can be freed between batches
    OwnStream side_;         // for work outside partitions
    Vocabulary vocabulary_;
    HostReader reader_;
    std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace gpu
}  // namespace crayon
