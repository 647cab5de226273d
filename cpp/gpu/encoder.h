// Encodes batches on a device: partitions that fit its memory, in order, several on their way at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "crayon/batch/batch.h"
#include "host_reader.h"
#include "vocabulary_upload.h"

namespace crayon {
namespace gpu {

// The most that a partition takes of a device's memory for each byte of text, where every byte is a pretoken and a
// miss: the sum of PartitionRun's buffers, which the pool rounds up by an eighth at most.
constexpr uint64_t kBytesOfElement = 40 + 5;

// The sizes are those of the CRAYON paper: room for a document is its bytes and `margin`, and a partition has room for
// `elements` ids, or for as many as the device's memory is free for when this is set. A larger text has a partition
// of its own.
struct Capacity {
    uint64_t elements = uint64_t(512) << 20;
    uint32_t margin = 64;
    uint32_t lanes = 2;  // partitions on their way at a time
};

// Texts, one behind the other: text i has bytes[offsets[i]] to bytes[offsets[i + 1]].
struct FlatTexts {
    const uint8_t* bytes;
    const uint64_t* offsets;  // [count + 1], of the host
    size_t count;
    bool on_device = false;   // where the bytes are
    size_t first = 0;         // the number of the first one, for errors
    Stream stream = nullptr;  // of the device, that may still be filling bytes there
};

// Ids in the device's memory, and where each text's begin: no more memory than they need, as the pool rounds it.
// Whoever has it keeps the device.
struct DeviceRagged {
    explicit DeviceRagged(const PoolPtr& pool) : ids(pool), row_splits(pool) {}
    Buffer<int32_t> ids;
    Buffer<int64_t> row_splits;
    size_t n_ids = 0;
};

// What a batch took: for reports.
struct EncodeReport {
    size_t partitions = 0, bytes = 0, pretokens = 0, ids = 0;
    size_t merged_pretokens = 0, merged_bytes = 0;  // what the device merged
    size_t host_pretokens = 0, host_documents = 0;  // what the CPU encoded
    size_t longest_walk = 0;                        // Totals::longest_walk, the largest
};

// Any number of threads may use it; their batches go one after the other.
class Encoder {
  public:
    // Of an engine that is supported (why_unsupported), and a device that outlives it. DeviceError when the device has
    // no room for the vocabulary.
    Encoder(std::shared_ptr<const Engine> engine, Device* device, Capacity capacity = {});
    ~Encoder();

    // Of the next batches. Gives back the memory that those before took.
    void set_capacity(Capacity capacity);
    // Gives back what is kept for the next batch, unless one is on its way. Never waits.
    void trim();
    // Called when the device has no memory left, before smaller partitions are tried: what else has some gives it.
    void set_reclaim(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }

    // Ids and row splits, as crayon::encode_ragged gives them. DeviceError; Error(utf8) names a text that is not UTF-8.
    Ragged encode_ragged(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report = nullptr);
    DeviceRagged encode_on_device(const FlatTexts& texts, const EncodeOptions& options, EncodeReport* report = nullptr);

    const Engine& engine() const { return *engine_; }
    Device& device() const { return *device_; }
    // For texts on the device: whoever fills them may let it wait.
    Stream stream() const { return side_; }
    // Where results have their memory, and what goes to the device may have it.
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
    struct Part;
    Part take_part(const FlatTexts& texts, const Partition& partition, Lane& lane, const EncodeOptions& options);
    DeviceRagged join(std::vector<Part>* parts);
    Ragged encode_on_cpu(const FlatTexts& texts, const Partition& partition, const EncodeOptions& options) const;

    std::mutex mutex_;
    std::shared_ptr<const Engine> engine_;
    Device* device_;
    Capacity capacity_;
    uint64_t elements_ = 0;  // of the capacity's, as many as there was memory for when it was last looked at
    std::function<void()> reclaim_;
    const PoolPtr results_;  // and the vocabulary
    const PoolPtr working_;  // what can be had back between batches
    OwnStream side_;         // for what is no partition's
    Vocabulary vocabulary_;
    HostReader reader_;
    std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace gpu
}  // namespace crayon
