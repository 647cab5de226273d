// Runs one partition of a batch on a device: its memory and its steps.
#pragma once

#include "encoder.h"

namespace crayon {
namespace gpu {

// Throws Error(utf8) with `number` if the text is not UTF-8, as crayon::encode_ragged does.
void check_utf8(Bytes text, size_t number);

class PartitionRun {
  public:
    // Takes memory from the pool for its own use. `cached_words`, a power of two, is the number of merged words to keep
    // from call to call.
    PartitionRun(const Engine& engine, const PoolPtr& pool, uint32_t cached_words);

    // Encodes texts of at most kMostBytes in all. Afterwards work() has the ids and splits, on the device, and n_ids()
    // their number. Waits for the device three times, to read the number of pretokens, of merges and of ids before it
    // allocates memory for them.
    void encode(const FlatTexts& texts, const Tables& tables, const EncodeOptions& options);

    const Totals& totals() const { return *totals_on_host_.data(); }
    size_t n_ids() const { return n_ids_; }
    const int32_t* ids() const { return ids_.data(); }
    const int64_t* row_splits() const { return row_splits_.data(); }
    Stream stream() const { return stream_; }
    // How many pretokens and documents the CPU encoded.
    size_t host_pretokens() const { return n_host_pretokens_; }
    size_t host_documents() const { return n_host_documents_; }

  private:
    void upload(const FlatTexts& texts, const EncodeOptions& options);
    void find_pretokens();
    void match_longest();
    void look_up();
    void prepare_cache();
    // The CPU's results: the ids, and where those of each task begin.
    struct OfHost {
        std::vector<HostTask> tasks;
        IdBuffer ids;
        std::vector<Task> placed;
    };
    void encode_on_host(const FlatTexts& texts, const EncodeOptions& options, OfHost* of_host);
    void merge(const OfHost& of_host);
    std::vector<Bytes> bytes_of(const FlatTexts& texts, const std::vector<HostTask>& tasks,
                                std::unique_ptr<uint8_t[]>* copies);
    Ragged merge_on_host(const std::vector<Bytes>& pretokens) const;
    void write();

    template <typename T>
    T* zeroed(Buffer<T>* buffer, size_t count);
    void launch(Kernel kernel, uint32_t blocks);
    void read_totals();
    void wait(const char* what);

    const Engine& engine_;
    const PoolPtr pool_;
    Device* const device_;
    Work work_{};
    size_t n_ids_ = 0;
    const uint32_t cached_words_;
    bool is_cache_clear_ = false;  // the cache was cleared once, and no clearing has failed since
    uint32_t not_kept_ = 0;        // merged words that found no room since the cache was cleared
    std::vector<int32_t> frame_on_host_;
    size_t n_host_pretokens_ = 0, n_host_documents_ = 0;

    Buffer<uint8_t> text_{pool_};
    Buffer<uint64_t> offsets_{pool_};
    Buffer<uint32_t> parts_{pool_}, documents_{pool_}, added_{pool_}, boundaries_{pool_};
    Buffer<Planes> planes_{pool_};
    Buffer<uint8_t> chunk_sets_{pool_}, digit_states_{pool_}, digit_tiles_{pool_}, is_host_{pool_};
    Buffer<uint16_t> match_sizes_{pool_}, tile_exits_{pool_}, group_exits_{pool_}, tile_entries_{pool_},
        group_entries_{pool_};
    Buffer<uint32_t> tile_sets_{pool_}, word_tiles_{pool_}, starts_{pool_}, results_{pool_}, counts_{pool_},
        id_tiles_{pool_}, merged_{pool_}, seen_{pool_};
    Buffer<WordEntry> cache_{pool_};
    Buffer<Task> short_tasks_{pool_}, middle_tasks_{pool_}, long_tasks_{pool_}, placed_{pool_};
    Buffer<HostTask> host_tasks_{pool_};
    Buffer<int32_t> frame_{pool_}, ids_{pool_};
    Buffer<int64_t> row_splits_{pool_};
    Buffer<Totals> totals_{pool_};
    Buffer<Totals, true> totals_on_host_{pool_};
    HostReader reader_{pool_};
    OwnStream stream_{device_};  // destroyed first: running work must not use freed memory
};

}  // namespace gpu
}  // namespace crayon
