#include "partition.h"

#include <algorithm>
#include <string>

#include "crayon/encode/run/thread_count.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "encode/plan/make_tasks.h"
#include "engine/engine_impl.h"
#include "engine/leased_tasks.h"

namespace crayon {
namespace gpu {
namespace {

constexpr size_t kSlack = 16;  // bytes after the text that kernels load with its last bytes
constexpr uint32_t kLeastSeen = 64;

}  // namespace

void check_utf8(Bytes text, size_t number) {
    const size_t bad = utf8_error(text.data, text.size);
    if (bad != text.size)
        throw Error(ErrorKind::utf8,
                    "text " + std::to_string(number) + " is not UTF-8: invalid byte at offset " + std::to_string(bad));
}

PartitionRun::PartitionRun(const Engine& engine, const PoolPtr& pool, uint32_t cached_words)
    : engine_(engine), pool_(pool), device_(&pool->device()), cached_words_(cached_words) {
    totals_.make_room(1);
    totals_on_host_.make_room(1);
}

template <typename T>
T* PartitionRun::zeroed(Buffer<T>* buffer, size_t count) {
    T* const data = buffer->make_room(count);
    check(*device_, device_->zero(data, count * sizeof(T), stream_), "clearing memory");
    return data;
}

void PartitionRun::launch(Kernel kernel, uint32_t blocks) {
    if (blocks > 0) check(*device_, device_->launch(kernel, blocks, work_, stream_), "starting a kernel");
}

void PartitionRun::wait(const char* what) {
    check(*device_, device_->wait(stream_), what);
}

void PartitionRun::read_totals() {
    check(*device_, device_->to_host(totals_on_host_.data(), totals_.data(), sizeof(Totals), stream_),
          "reading counts");
    wait("encoding");
}

void PartitionRun::encode(const FlatTexts& texts, const Tables& tables, const EncodeOptions& options) {
    work_ = Work{};
    work_.tables = tables;
    n_ids_ = 0;
    n_host_pretokens_ = n_host_documents_ = 0;
    OfHost of_host;
    try {
        upload(texts, options);
        find_pretokens();
        look_up();
        encode_on_host(texts, options, &of_host);
        merge(of_host);
        write();
    } catch (...) {
        // Copies may still read the caller's texts, or read or write `of_host`.
        (void)device_->wait(stream_);
        throw;
    }
}

void PartitionRun::upload(const FlatTexts& texts, const EncodeOptions& options) {
    const uint64_t first = texts.offsets[0];
    work_.size = uint32_t(texts.offsets[texts.count] - first);
    work_.n_documents = uint32_t(texts.count);
    if (texts.on_device) check(*device_, device_->after(stream_, texts.stream), "waiting for text");
    // Text on the device is copied, too, because kernels load aligned whole words.
    const size_t room = size_t(chunks_of(work_)) * kChunk + kSlack;
    uint8_t* const text = text_.make_room(room);
    check(*device_,
          texts.on_device ? device_->copy(text, texts.bytes + first, work_.size, stream_)
                          : device_->to_device(text, texts.bytes + first, work_.size, stream_),
          "copying text");
    check(*device_, device_->zero(text + work_.size, room - work_.size, stream_), "clearing memory");
    work_.text = text;
    uint64_t* const offsets = offsets_.make_room(texts.count + 1);
    check(*device_, device_->to_device(offsets, texts.offsets, (texts.count + 1) * sizeof *offsets, stream_),
          "copying offsets");
    work_.offsets = offsets;

    frame_on_host_.clear();
    if (options.add_special_tokens) {
        const Surround& around = *engine_.surround(false, true);
        for (const SpecialId& special : around.before) frame_on_host_.push_back(special.id);
        for (const SpecialId& special : around.after) frame_on_host_.push_back(special.id);
        work_.n_before = uint32_t(around.before.size());
        work_.n_after = uint32_t(around.after.size());
    }
    if (!frame_on_host_.empty()) {
        int32_t* const ids = frame_.make_room(frame_on_host_.size());
        check(*device_, device_->to_device(ids, frame_on_host_.data(), frame_on_host_.size() * sizeof *ids, stream_),
              "copying special ids");
        work_.frame = ids;
    }
    work_.totals = zeroed(&totals_, 1);
}

void PartitionRun::find_pretokens() {
    const Family family = *engine_.family();
    const size_t words = bitmap_words(work_), chunks = chunks_of(work_);
    work_.parts = zeroed(&parts_, words);
    work_.documents = zeroed(&documents_, words);
    work_.boundaries = zeroed(&boundaries_, words);
    work_.planes = planes_.make_room(chunks + 1);
    check(*device_, device_->zero(work_.planes + chunks, sizeof(Planes), stream_), "clearing memory");
    work_.chunk_sets = zeroed(&chunk_sets_, chunks);
    work_.tile_sets = zeroed(&tile_sets_, JoinSets::blocks(work_));
    work_.digit_states = zeroed(&digit_states_, chunks);
    work_.digit_tiles = digit_tiles_.make_room(JoinDigits::blocks(work_));
    work_.is_host = zeroed(&is_host_, work_.n_documents);
    work_.word_tiles = word_tiles_.make_room(CountTiles<BoundaryCounts>::blocks(work_));
    launch(Kernel::mark_documents, MarkDocuments::blocks(work_));
    const Tables& t = work_.tables;
    if (t.added.size > 0) {
        work_.added = zeroed(&added_, words);
        launch(Kernel::find_added, FindAdded::blocks(work_));
    }
    launch(Kernel::describe_chunks, DescribeChunks::blocks(work_));
    launch(Kernel::join_sets, JoinSets::blocks(work_));
    if (rules_of(family).digits > 1) {
        launch(Kernel::join_digits, JoinDigits::blocks(work_));
        launch(Kernel::scan_digit_tiles, 1);
        launch(Kernel::spread_digits, SpreadDigits::blocks(work_));
    }
    launch(boundaries_kernel(family), boundaries_blocks(family, work_));
    if (t.longest_match) match_longest();
    if (t.added.size > 0) launch(Kernel::join_added, JoinAdded::blocks(work_));
    launch(Kernel::join_host_documents, JoinHostDocuments::blocks(work_));
    launch(Kernel::count_boundaries, CountTiles<BoundaryCounts>::blocks(work_));
    launch(Kernel::scan_boundary_tiles, 1);
    read_totals();
}

// For greedy mode: finds the longest matches, and makes each token a pretoken.
void PartitionRun::match_longest() {
    const size_t tiles = MatchTiles::blocks(work_), groups = JoinMatchTiles::blocks(work_);
    work_.match_sizes = match_sizes_.make_room(work_.size);
    work_.tile_exits = tile_exits_.make_room(tiles * kLongestToken);
    work_.group_exits = group_exits_.make_room(groups * kLongestToken);
    work_.tile_entries = tile_entries_.make_room(tiles);
    work_.group_entries = group_entries_.make_room(groups);
    launch(Kernel::match_tiles, uint32_t(tiles));
    launch(Kernel::join_match_tiles, uint32_t(groups));
    launch(Kernel::enter_match_groups, 1);
    launch(Kernel::enter_match_tiles, EnterMatchTiles::blocks(work_));
    launch(Kernel::mark_matches, uint32_t(tiles));
}

void PartitionRun::look_up() {
    const uint32_t n = work_.n_pretokens = totals().pretokens;
    work_.starts = starts_.make_room(size_t(n) + 1);
    work_.results = results_.make_room(n);
    work_.counts = counts_.make_room(n);
    work_.id_tiles = id_tiles_.make_room(CountTiles<IdCounts>::blocks(work_));
    work_.short_tasks = short_tasks_.make_room(n);
    work_.middle_tasks = middle_tasks_.make_room(work_.size / kShortMerge + 1);
    work_.long_tasks = long_tasks_.make_room(work_.size / kMiddleMerge + 1);
    const size_t host_documents = totals().any_host_document != 0 ? work_.n_documents : 0;
    work_.host_tasks = host_tasks_.make_room(work_.size / kLongMerge + 1 + host_documents + 1);
    work_.seen_places = kLeastSeen;
    while (work_.seen_places < n / 4) work_.seen_places *= 2;
    work_.seen = zeroed(&seen_, work_.seen_places);
    prepare_cache();
    launch(Kernel::list_pretokens, ListPretokens::blocks(work_));
    launch(Kernel::look_up_words, LookUpWords::blocks(work_));
    read_totals();
}

// Clears the cache of merged words at first use, and when many merged words find no room: the texts are then of another
// kind.
void PartitionRun::prepare_cache() {
    work_.cache = cache_.make_room(cached_words_);
    work_.cache_entries = cached_words_;
    if (is_cache_clear_ && not_kept_ < cached_words_ / 2) return;
    is_cache_clear_ = false;
    zeroed(&cache_, cached_words_);
    is_cache_clear_ = true;
    not_kept_ = 0;
}

// Returns the bytes of tasks, which must be in text order. Copies text from the device. Tasks near each other share one
// copy, which is faster than two.
std::vector<Bytes> PartitionRun::bytes_of(const FlatTexts& texts, const std::vector<HostTask>& tasks,
                                          std::unique_ptr<uint8_t[]>* copies) {
    constexpr size_t kNear = size_t(128) << 10;
    std::vector<Bytes> all;
    all.reserve(tasks.size());
    if (!texts.on_device) {
        for (const HostTask& task : tasks)
            all.emplace_back(texts.bytes + texts.offsets[0] + task.start, size_t(task.size));
        return all;
    }
    struct CopiedRange {
        size_t begin, end;
    };
    std::vector<CopiedRange> ranges;
    size_t total = 0;
    for (const HostTask& task : tasks) {
        const size_t begin = task.start, end = begin + task.size;
        if (ranges.empty() || begin > ranges.back().end + kNear) {
            ranges.push_back({begin, end});
            total += end - begin;
        } else if (end > ranges.back().end) {
            total += end - ranges.back().end;
            ranges.back().end = end;
        }
    }
    copies->reset(new uint8_t[total]);
    uint8_t* to = copies->get();
    auto task = tasks.begin();
    for (const CopiedRange& range : ranges) {
        reader_.read(to, work_.text + range.begin, range.end - range.begin);
        for (; task != tasks.end() && task->start + size_t(task->size) <= range.end; ++task)
            all.emplace_back(to + (task->start - range.begin), size_t(task->size));
        to += range.end - range.begin;
    }
    return all;
}

// Merges very long pretokens on all cores.
Ragged PartitionRun::merge_on_host(const std::vector<Bytes>& pretokens) const {
    const auto groups = make_tasks(pretokens.size(), [&](size_t i) { return pretokens[i].size; });
    std::vector<IdBuffer> parts(groups.size());
    Ragged merged;
    merged.splits.resize(pretokens.size() + 1);
    size_t bytes = 0;
    for (const Bytes& pretoken : pretokens) bytes += pretoken.size;
    run_tasks(engine_, groups.size(), thread_count(0, bytes), [&](size_t group, Scratch& scratch) {
        for (size_t i = groups[group].begin; i < groups[group].end; ++i) {
            engine_.merge_pretoken(pretokens[i], Engine::MergeWay::usual, scratch, &parts[group]);
            merged.splits[i + 1] = int64_t(parts[group].size());
        }
    });
    join_parts(groups, &parts, &merged.ids, &merged.splits);
    return merged;
}

// Encodes very long pretokens, and documents that the kernels leave to the CPU.
void PartitionRun::encode_on_host(const FlatTexts& texts, const EncodeOptions& options, OfHost* of_host) {
    const size_t n = totals().n_host;
    if (n == 0) return;
    std::vector<HostTask>& tasks = of_host->tasks;
    tasks.resize(n);
    check(*device_, device_->to_host(tasks.data(), host_tasks_.data(), n * sizeof(HostTask), stream_), "reading tasks");
    wait("encoding");
    // Sorts the tasks, which kernels list in any order.
    std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.pretoken < b.pretoken; });
    std::unique_ptr<uint8_t[]> copies;
    const std::vector<Bytes> bytes = bytes_of(texts, tasks, &copies);

    std::vector<TextView> documents;
    std::vector<Bytes> pretokens;
    for (size_t i = 0; i < n; ++i) {
        if (!tasks[i].is_document) {
            pretokens.push_back(bytes[i]);
            continue;
        }
        const uint64_t* const of =
            std::upper_bound(texts.offsets, texts.offsets + texts.count, texts.offsets[0] + tasks[i].start);
        check_utf8(bytes[i], texts.first + size_t(of - texts.offsets) - 1);
        documents.push_back({bytes[i].data, bytes[i].size, 0});
    }
    EncodeOptions inner = options;
    inner.add_special_tokens = false;
    const Ragged made = crayon::encode_ragged(engine_, documents, inner, 0);
    const Ragged merged = merge_on_host(pretokens);

    const uint32_t first = totals().merged_bytes;
    IdBuffer& ids = of_host->ids;
    ids.reserve_more(made.ids.size() + merged.ids.size());
    for (size_t i = 0, document = 0, pretoken = 0; i < n; ++i) {
        of_host->placed.push_back({tasks[i].pretoken, uint32_t(first + ids.size())});
        const Ragged& some = tasks[i].is_document ? made : merged;
        const size_t at = tasks[i].is_document ? document++ : pretoken++;
        ids.append(some.ids.data() + some.splits[at], size_t(some.splits[at + 1] - some.splits[at]));
    }
    of_host->placed.push_back({0, uint32_t(first + ids.size())});
    n_host_documents_ = documents.size();
    n_host_pretokens_ = pretokens.size();
}

void PartitionRun::merge(const OfHost& of_host) {
    const Totals& t = totals();
    work_.merged = merged_.make_room(size_t(t.merged_bytes) + of_host.ids.size());
    launch(Kernel::merge_short, MergeByThreads<kShortMerge>::blocks(t.n_short));
    launch(Kernel::merge_middle, MergeByThreads<kMiddleMerge>::blocks(t.n_middle));
    launch(Kernel::merge_long, MergeInShared::blocks(t.n_long));
    launch(Kernel::keep_merged, KeepMerged::blocks(t.n_short));
    launch(Kernel::repeat_ids, RepeatIds::blocks(work_));
    if (of_host.placed.empty()) return;
    const auto send = [&](auto* to, const auto* from, size_t count) {
        check(*device_, device_->to_device(to, from, count * sizeof *from, stream_),
              "copying ids that the CPU encoded");
    };
    const size_t n = of_host.placed.size();
    work_.n_placed = uint32_t(n - 1);
    work_.placed = placed_.make_room(n);
    send(placed_.data(), of_host.placed.data(), n);
    send(work_.merged + t.merged_bytes, of_host.ids.data(), of_host.ids.size());
    launch(Kernel::place_host_ids, PlaceHostIds::blocks(work_));
    wait("encoding");  // copies may still read memory that is freed now
}

void PartitionRun::write() {
    launch(Kernel::count_ids, CountTiles<IdCounts>::blocks(work_));
    launch(Kernel::scan_id_tiles, 1);
    read_totals();
    not_kept_ += totals().not_kept;
    n_ids_ = size_t(totals().ids) + size_t(work_.n_documents) * (work_.n_before + work_.n_after);
    work_.ids = ids_.make_room(n_ids_);
    work_.row_splits = row_splits_.make_room(size_t(work_.n_documents) + 1);
    launch(Kernel::write_ids, WriteIds::blocks(work_));
    launch(Kernel::write_splits, WriteSplits::blocks(work_));
}

}  // namespace gpu
}  // namespace crayon
