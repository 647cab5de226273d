// Counts the words of texts, which is what a trainer works on: the pretokens that an engine's added tokens, normalizer
// and pre-tokenizer make, as tokenizers' Trainer.feed counts them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "crayon/batch/text_view.h"
#include "crayon/engine/engine.h"
#include "crayon/training/training.h"

namespace crayon {

// Counts are kept in memory for the unique words alone: 32 to 48 bytes for one of up to 15 bytes, its own bytes and 8
// more for a longer one. While a call counts, each thread has a table of its own for the words of that call, so that
// words which all threads met are there once more for each.
//
// add, add_lines and add_words count all that they are given or, when they throw, nothing. One call at a time: a
// counter has no lock. No thread lives longer than a call, so a fork between calls is harmless.
class WordCounter {
  public:
    // `threads` as for thread_count (batch.h). Error(argument) for an engine in greedy mode, which has no pretokens.
    explicit WordCounter(std::shared_ptr<const Engine> engine, size_t threads = 0);
    ~WordCounter();

    // Each view is one text. Large ones are cut where words end (seams.h), so that they, too, are work for all threads;
    // one that has no such place is one thread's work, and an interrupt may wait for its normalizer or pre-tokenizer.
    // `progress` (may be empty) is called in this thread, at most ten times a second, also when each call is short:
    // with "counting words" and bytes of text, then with "merging counts" and shards of the table.
    // Error(utf8) names the text and the byte; NotUnicode as in text_view.h; Error(argument) for a text on which the
    // reference panics, or one of 4 GiB that has to be cut as a whole.
    void add(const std::vector<TextView>& texts, const Progress& progress);
    // Each line, with its "\n" if it has one, is one text. The data is read where it lies. Errors name its bytes.
    void add_lines(Bytes data, const Progress& progress);
    // Words that were cut before, which are no text to be normalized. One of no bytes or no count is none.
    // Error(argument) when there would be more than 2^64 - 1 words in all.
    void add_words(const std::vector<CountedWord>& words);

    // All unique words with their counts, in any order. They lie in the counter's memory until the next add. The same
    // characters as a raw word and as one that is not (an added token) are two words.
    std::vector<CountedWord> words() const;

    // As after the last call that ended; any thread may ask.
    uint64_t unique() const { return unique_; }
    uint64_t total() const { return total_; }  // words
    uint64_t bytes() const { return bytes_; }  // of text, in UTF-8; of add_words, of its words as often as they count

  private:
    struct Impl;
    class Call;

    std::unique_ptr<Impl> impl_;
    std::atomic<uint64_t> unique_{0}, total_{0}, bytes_{0};
};

}  // namespace crayon
