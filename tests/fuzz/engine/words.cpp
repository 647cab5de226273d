// Words are counted alike by every way and instruction set, and what is trained on them is always the same.
// Input: vocabulary, options of the trainer, then texts, divided by NULs.
#include <algorithm>
#include <map>

#include "crayon/support/error.h"
#include "crayon/training/training.h"
#include "crayon/training/word_counter.h"
#include "support.h"

using namespace crayon;

namespace {

using Counts = std::map<std::pair<std::string, bool>, uint64_t>;

Counts counts_of(const WordCounter& counter) {
    Counts counts;
    uint64_t total = 0;
    for (const CountedWord& word : counter.words()) {
        fuzz::require(counts.emplace(std::make_pair(word.text.view(), word.is_raw), word.count).second, "a word twice");
        total += word.count;
    }
    fuzz::require(total == counter.total() && counts.size() == counter.unique(), "sums of a counter");
    return counts;
}

std::string joined(const TrainedBpe& trained) {
    std::string out;
    for (const std::string& token : trained.tokens) out += token + "\n";
    for (const auto& [left, right] : trained.merges) out += std::to_string(left) + "+" + std::to_string(right) + " ";
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const fuzz::Engines& engines = fuzz::engines_of(input.byte() % fuzz::vocabularies().size(), false);
    BpeTrainerOptions options;
    const uint8_t flags = input.byte();
    options.vocab_size = input.byte() * 2u;
    options.min_frequency = flags & 3;
    if (flags & 4) options.limit_alphabet = input.byte();
    if (flags & 8) options.max_token_length = input.byte() & 7;
    if (flags & 16) options.continuing_subword_prefix = "##";
    if (flags & 32) options.end_of_word_suffix = "</w>";
    if (flags & 64) options.special_tokens = {"<s>", "a"};
    if (flags & 128) options.initial_alphabet = {'z', 0x1F642};

    std::string all = fuzz::text_of(input.rest());
    std::vector<TextView> texts;
    std::string lines;
    for (size_t from = 0; from <= all.size();) {
        const size_t end = std::min(all.find('\0', from), all.size());
        texts.push_back({all.data() + from, end - from, 0});
        from = end + 1;
    }
    std::vector<TextView> of_lines;
    for (size_t from = 0; from < all.size();) {
        const size_t end = std::min(all.find('\n', from), all.size() - 1) + 1;
        of_lines.push_back({all.data() + from, end - from, 0});
        from = end;
    }
    std::string error;
    Counts first;
    bool is_first = true;
    for (const fuzz::EnginePtr& engine : engines) {
        for (const size_t threads : {1, 2}) {
            if (threads == 2 && engine != engines.back()) continue;
            WordCounter counter(engine, threads), by_line(engine, threads), of_views(engine, threads);
            std::string failed;
            try {
                counter.add(texts, nullptr);
            } catch (const Error& e) {
                failed = e.what();
                fuzz::require(counter.unique() == 0 && counter.total() == 0, "a call that failed has counted");
            }
            if (is_first) error = failed;
            fuzz::require(failed == error, "an error on another instruction set", failed + "\n" + error);
            const Counts counts = counts_of(counter);
            if (is_first) first = counts;
            fuzz::require(counts == first, "words on another instruction set");
            is_first = false;
            try {
                by_line.add_lines(Bytes(all), nullptr);
                of_views.add(of_lines, nullptr);
                fuzz::require(counts_of(by_line) == counts_of(of_views), "lines against texts");
            } catch (const Error&) {
            }
            if (threads == 1) continue;
            try {
                const std::vector<CountedWord> words = counter.words();
                const std::string trained = joined(train_bpe(words, options, nullptr));
                std::vector<CountedWord> turned(words.rbegin(), words.rend());
                fuzz::require(joined(train_bpe(turned, options, nullptr)) == trained, "the order of words counts");
            } catch (const Error& e) {
                fuzz::require(e.kind() == ErrorKind::argument, "an error of another kind", e.what());
            }
        }
    }
    return 0;
}
