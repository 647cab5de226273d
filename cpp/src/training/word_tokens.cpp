#include "training/word_tokens.h"

namespace crayon {

std::vector<uint64_t> token_uses(const Engine& engine, const std::vector<CountedWord>& words,
                                 const Progress& progress) {
    std::vector<uint64_t> uses(engine.cartridge().program().n_ids, 0);
    TrainingReport report(progress);
    for_each_word_in_tokens(engine, words, &report, [&](const CountedWord& word, const IdBuffer& ids) {
        for (size_t i = 0; i < ids.size(); ++i) uses[size_t(ids.data()[i])] += word.count;
    });
    report.end();
    return uses;
}

}  // namespace crayon
