// Byte-pair encoding (P. Gage, 1994; R. Sennrich, B. Haddow, A. Birch, 2016): repeatedly joins the most frequent pair
// of neighbours to a symbol.
//
// An index has the positions of each pair, and a heap finds the most frequent one. Counts in the heap may be stale: a
// popped pair whose count has changed is pushed again with its true count. docs/training.md gives the rules of the
// reference, which this file follows.
#include <algorithm>
#include <unordered_set>

#include "crayon/training/training.h"
#include "training/train_lists.h"
#include "training/train_pairs.h"
#include "training/train_progress.h"
#include "training/train_queue.h"
#include "training/train_symbols.h"
#include "training/train_words.h"
#include "training/word_tokens.h"

namespace crayon {
namespace {

using Position = TrainingWords::Position;

// How one merge changes the count of the pair of the merged symbol and one neighbour, on one side.
struct NeighbourChange {
    uint64_t lost = 0, gained = 0;
    uint32_t positions = 0;  // of gained pairs
    uint32_t is_touched = 0;
    PositionLists::Place place = 0;
};

class Side {
  public:
    NeighbourChange& of(uint32_t symbol) {
        if (symbol >= changes_.size()) changes_.resize(symbol + 1 + symbol / 4);
        NeighbourChange& change = changes_[symbol];
        if (!change.is_touched) {
            change.is_touched = 1;
            touched_.push_back(symbol);
        }
        return change;
    }
    void note(uint32_t symbol, NeighbourChange& change, Position position) {
        ++change.positions;
        positions_.push_back({symbol, position});
    }
    const std::vector<uint32_t>& touched() const { return touched_; }
    NeighbourChange& operator[](uint32_t symbol) { return changes_[symbol]; }

    // Sorts the positions that were noted for gained pairs into one list per neighbour. Each list keeps their order.
    void fill(PositionLists* lists) {
        for (const uint32_t symbol : touched_) {
            NeighbourChange& change = changes_[symbol];
            if (change.positions > 1) change.place = lists->take(change.positions);
        }
        for (const Note& note : positions_) {
            NeighbourChange& change = changes_[note.symbol];
            if (change.positions == 1)
                change.place = note.position;
            else
                *lists->at(change.place++) = note.position;
        }
        for (const uint32_t symbol : touched_) {
            NeighbourChange& change = changes_[symbol];
            if (change.positions > 1) change.place -= change.positions;
        }
        positions_.clear();
    }
    void clear() {
        for (const uint32_t symbol : touched_) changes_[symbol] = NeighbourChange();
        touched_.clear();
    }

  private:
    struct Note {
        uint32_t symbol;
        Position position;
    };
    std::vector<NeighbourChange> changes_;  // by symbol
    std::vector<uint32_t> touched_;
    std::vector<Note> positions_;
};

class BpeTraining {
  public:
    BpeTraining(const std::vector<CountedWord>& counted, const BpeTrainerOptions& options, const Progress& progress)
        : options_(options),
          report_(progress),
          symbols_(counted, options, &report_),
          words_(symbols_.spell(counted, &report_)),
          // One position per pair, two per merge, and the same two again if join_own_pairs() copies them.
          lists_(5 * words_.pairs()),
          longest_(options.max_token_length.value_or(~size_t(0))),
          // With a prefix or suffix, one symbol can span different numbers of original symbols.
          has_uneven_lengths_(options.max_token_length &&
                              !(options.continuing_subword_prefix.empty() && options.end_of_word_suffix.empty())) {
        index_pairs();
    }
    BpeTraining(const Engine& engine, const std::vector<CountedWord>& counted, std::vector<std::string> tokens,
                const std::vector<uint32_t>& reusable, const std::vector<uint32_t>& apart,
                const BpeTrainerOptions& options, const Progress& progress)
        : options_(options),
          report_(progress),
          symbols_(std::move(tokens), reusable, options),
          words_(in_tokens(engine, counted, apart, &symbols_, &report_)),
          lists_(5 * words_.pairs()),
          longest_(~size_t(0)),  // TrainingSymbols::may_join checks lengths
          has_uneven_lengths_(false) {
        index_pairs();
    }

    TrainedBpe run() {
        report_.begin("Compute merges", options_.vocab_size);
        std::vector<uint64_t> merged;
        PairEntry top;
        while (symbols_.size() < options_.vocab_size && queue_.pop(&top)) {
            const PairCount& pair = pairs_.at(top.key);
            if (top.count != pair.count) {
                top.count = pair.count;
                queue_.push(top);
                continue;
            }
            if (top.count < 1 || options_.min_frequency > top.count) break;
            if (!symbols_.may_join(first_of(top.key), second_of(top.key))) continue;
            merged.push_back(top.key);
            merge(top, pair.is_recreated() || has_uneven_lengths_);
            report_.at(symbols_.size());
        }
        report_.end();
        return {symbols_.take_strings(), last_of_each(merged)};
    }

  private:
    static uint32_t first_of(uint64_t key) { return uint32_t(key >> 32); }
    static uint32_t second_of(uint64_t key) { return uint32_t(key); }

    static TrainingWords in_tokens(const Engine& engine, const std::vector<CountedWord>& counted,
                                   const std::vector<uint32_t>& apart, TrainingSymbols* symbols,
                                   TrainingReport* report) {
        const std::unordered_set<uint32_t> ends(apart.begin(), apart.end());
        TrainingWords words;
        for_each_word_in_tokens(engine, counted, report, [&](const CountedWord& word, const IdBuffer& ids) {
            words.begin_word(word.count);
            for (size_t i = 0; i < ids.size(); ++i) {
                const uint32_t id = uint32_t(ids.data()[i]);
                if (ends.count(id) == 0) {
                    words.push(id);
                    if (ids.size() > 1) symbols->is_met(id);
                    continue;
                }
                words.end_word();
                words.begin_word(word.count);
            }
            words.end_word();
        });
        words.finish();
        return words;
    }

    void index_pairs() {
        report_.begin("Count pairs", 2 * words_.pairs());
        uint64_t done = 0;
        // In this function, PairCount::count holds the index of the pair's entry at first.
        std::vector<PairEntry> entries;
        words_.for_each_pair([&](Position, uint32_t a, uint32_t b, uint64_t count) {
            PairCount& pair = pairs_.at(symbol_pair(a, b));
            if (pair.count == 0) {
                entries.push_back({0, pair.key(), 0, 0});
                pair.count = entries.size();
            }
            PairEntry& entry = entries[pair.count - 1];
            entry.count += count;
            ++entry.size;
            report_.at_times(++done);
        });
        for (PairEntry& entry : entries) {
            if (entry.size > 1) entry.list = lists_.take(entry.size);
        }
        words_.for_each_pair([&](Position position, uint32_t a, uint32_t b, uint64_t) {
            PairEntry& entry = entries[pairs_.at(symbol_pair(a, b)).count - 1];
            if (entry.size == 1)
                entry.list = position;
            else
                *lists_.at(entry.list++) = position;
            report_.at_times(++done);
        });
        for (PairEntry& entry : entries) {
            if (entry.size > 1) entry.list -= entry.size;
            PairCount& pair = pairs_.at(entry.key);
            pair.count = entry.count;
            pair.create();
            if (pair.is_positive()) queue_.push(entry);
        }
    }

    // If `whole_words`, also merges the pair at positions in these words that the entry does not list.
    void merge(const PairEntry& entry, bool whole_words) {
        constexpr size_t kAhead = 16, kOften = size_t(1) << 14;
        const uint32_t a = first_of(entry.key), b = second_of(entry.key), made = symbols_.join(a, b);
        const Position alone = Position(entry.list);
        const Position* const positions = entry.size == 1 ? &alone : lists_.at(entry.list);
        Position done = 0;  // all earlier positions are done
        for (size_t i = 0; i < entry.size; ++i) {
            if (i + kAhead < entry.size) words_.prefetch_at(positions[i + kAhead]);
            if (i % kOften == kOften - 1) report_.at(symbols_.size());
            const Position position = positions[i];
            if (!whole_words) {
                merge_at(position, a, b, made);
            } else if (position >= done) {
                for (done = words_.first(position); words_.is_symbol(done); done = words_.after(done))
                    merge_at(done, a, b, made);
            }
        }
        if (entry.size > 1) lists_.give_back(entry.list, entry.size);
        apply(a, b, made);
    }

    void merge_at(Position position, uint32_t a, uint32_t b, uint32_t made) {
        if (words_.symbol(position) != a) return;
        const Position second = words_.after(position);
        if (words_.symbol(second) != b) return;
        const uint64_t count = words_.count(words_.first(position));
        const Position before = words_.before(position);
        words_.join(position, made);
        const size_t length = words_.length(position);
        // As in Hugging Face tokenizers, a pair that is too long is never added to its count, but is subtracted from it
        // when it is lost.
        if (before != TrainingWords::kNone) {
            NeighbourChange& change = left_.of(words_.symbol(before));
            change.lost += count;
            if (words_.length(before) + length < longest_) {
                change.gained += count;
                left_.note(words_.symbol(before), change, before);
            }
        }
        const Position after = position + Position(length);
        if (words_.is_symbol(after)) {
            NeighbourChange& change = right_.of(words_.symbol(after));
            change.lost += count;
            if (words_.length(after) + length < longest_) {
                change.gained += count;
                right_.note(words_.symbol(after), change, position);
            }
        }
    }

    // Updates the counts of pairs after the merge of a and b to `made`, and queues the new pairs.
    void apply(uint32_t a, uint32_t b, uint32_t made) {
        left_.fill(&lists_);
        right_.fill(&lists_);
        for_each_prefetched(
            left_.touched(), [&](uint32_t x) { return symbol_pair(x, a); },
            [&](uint32_t x, PairCount& pair) { pair.count -= left_[x].lost; });
        for_each_prefetched(
            right_.touched(), [&](uint32_t y) { return symbol_pair(b, y); },
            [&](uint32_t y, PairCount& pair) { pair.count -= right_[y].lost; });
        join_own_pairs(made);
        for_each_prefetched(
            left_.touched(), [&](uint32_t x) { return symbol_pair(x, made); },
            [&](uint32_t x, PairCount& pair) { gain(left_[x], &pair); });
        for_each_prefetched(
            right_.touched(), [&](uint32_t y) { return symbol_pair(made, y); },
            [&](uint32_t y, PairCount& pair) { gain(right_[y], &pair); });
        left_.clear();
        right_.clear();
    }

    template <typename KeyOf, typename Visit>
    void for_each_prefetched(const std::vector<uint32_t>& touched, KeyOf&& key_of, Visit&& visit) {
        constexpr size_t kAhead = 8;
        for (size_t i = 0; i < touched.size(); ++i) {
            if (i + kAhead < touched.size()) pairs_.prefetch_at(key_of(touched[i + kAhead]));
            visit(touched[i], pairs_.at(key_of(touched[i])));
        }
    }

    // Joins the two lists of the pair (made, made), which both sides gain if the symbol `made` existed before.
    void join_own_pairs(uint32_t made) {
        NeighbourChange& left = left_.of(made);
        NeighbourChange& right = right_.of(made);
        if (left.positions == 0 || right.positions == 0) return;
        const size_t size = size_t(left.positions) + right.positions;
        const PositionLists::Place place = lists_.take(size);
        uint32_t* out = lists_.at(place);
        for (const NeighbourChange* side : {&left, &right}) {
            const Position alone = Position(side->place);
            const Position* from = side->positions == 1 ? &alone : lists_.at(side->place);
            out = std::copy(from, from + side->positions, out);
        }
        std::sort(lists_.at(place), out);
        left.place = place;
        left.positions = uint32_t(size);
        left.gained += right.gained;
        right.positions = 0;
    }

    void gain(const NeighbourChange& change, PairCount* pair) {
        if (change.positions == 0) return;
        pair->count += change.gained;
        pair->create();
        if (pair->is_positive()) queue_.push({pair->count, pair->key(), change.place, change.positions});
    }

    // Keeps only the last occurrence of a pair that was merged more than once.
    static std::vector<std::pair<uint32_t, uint32_t>> last_of_each(const std::vector<uint64_t>& merged) {
        std::unordered_set<uint64_t> seen;
        std::vector<std::pair<uint32_t, uint32_t>> merges;
        for (size_t i = merged.size(); i-- > 0;) {
            if (seen.insert(merged[i]).second) merges.emplace_back(first_of(merged[i]), second_of(merged[i]));
        }
        std::reverse(merges.begin(), merges.end());
        return merges;
    }

    const BpeTrainerOptions& options_;
    TrainingReport report_;
    TrainingSymbols symbols_;
    TrainingWords words_;
    PositionLists lists_;
    PairCounts pairs_;
    PairQueue queue_;
    Side left_, right_;  // of the current merge
    const size_t longest_;
    const bool has_uneven_lengths_;
};

}  // namespace

TrainedBpe train_bpe(const std::vector<CountedWord>& words, const BpeTrainerOptions& options,
                     const Progress& progress) {
    return BpeTraining(words, options, progress).run();
}

TrainedBpe extend_bpe(const Engine& engine, const std::vector<CountedWord>& words, std::vector<std::string> tokens,
                      const std::vector<uint32_t>& reusable, const std::vector<uint32_t>& apart,
                      const BpeTrainerOptions& options, const Progress& progress) {
    if (tokens.size() < engine.cartridge().program().n_ids)
        throw Error(ErrorKind::argument, "fewer tokens than the engine has ids");
    return BpeTraining(engine, words, std::move(tokens), reusable, apart, options, progress).run();
}

}  // namespace crayon
