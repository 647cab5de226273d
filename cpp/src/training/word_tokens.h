// Encodes counted words with an engine's model alone: they are already normalized and cut.
#pragma once

#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/error.h"
#include "crayon/training/training.h"
#include "engine/engine_impl.h"
#include "engine/scratch.h"
#include "training/train_progress.h"

namespace crayon {

// Calls use(word, ids) for each word, in order. Throws Error(argument) if words are raw but the engine's model works on
// text, or the reverse.
template <typename Use>
void for_each_word_in_tokens(const Engine& engine, const std::vector<CountedWord>& words, TrainingReport* report,
                             Use&& use) {
    const Engine::Impl& p = engine.impl();
    const Engine::Lease lease(engine);
    Scratch& s = *lease;
    std::vector<Piece> piece(1);
    IdBuffer ids;
    report->begin("Encode words", words.size());
    uint64_t done = 0;
    for (const CountedWord& word : words) {
        if (word.is_raw != p.on_bytes()) throw Error(ErrorKind::argument, "the words were not counted by this engine");
        ids.clear();
        if (word.is_raw) {
            piece[0] = {0, uint32_t(word.text.size)};
            encode_pieces(p.tables(engine.cartridge()), word.text, piece, s, &ids, nullptr);
        } else {
            p.pipeline.model->encode_piece(word.text, s.model.get(), &ids);
        }
        use(word, ids);
        report->at_times(++done);
    }
}

}  // namespace crayon
