// Counts words for a trainer, as Trainer.feed of Hugging Face tokenizers does. Words are the pretokens into which an
// engine's added tokens, normalizer and pre-tokenizer cut text.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/texts/text_view.h"
#include "crayon/training/training.h"

namespace crayon {

// Memory holds unique words only: 32 to 48 bytes for a word of up to 15 bytes; a longer one takes its own bytes and 8
// more in addition.
// During a call, each thread has its own table, so a word may be in every thread's table.
//
// add, add_lines and add_words are atomic: they count all of their input or throw and count nothing. Not thread-safe:
// one call at a time. Threads end with their call, so a fork between calls is harmless.
class WordCounter {
  public:
    // `threads` is that of thread_count (batch.h). Throws Error(argument) for an engine in greedy mode, which has no
    // pretokens. If `added_tokens` is false, added tokens in a text are not counted as words.
    explicit WordCounter(std::shared_ptr<const Engine> engine, size_t threads = 0, bool added_tokens = true);
    ~WordCounter();

    // Each view is one text. Threads share a large text, which is cut at seams (places where words can be cut; see
    // seams.h). One thread counts a text without seams, and an interrupt waits for its normalizer or pre-tokenizer.
    //
    // Calls `progress`, which may be empty, in the calling thread, at most ten times a second even across short calls.
    // The stages are "counting words" in bytes of text, then "merging counts" in shards of the table.
    //
    // Throws Error(utf8), which names the text and the byte, and NotUnicode (text_view.h). Throws Error(argument) for a
    // text on which the reference panics, or for 4 GiB of text without a seam.
    void add(const std::vector<TextView>& texts, const Progress& progress);
    // Each line, with its "\n" if it has one, is one text. Reads the data in place. Errors name the offset in the data.
    void add_lines(Bytes data, const Progress& progress);
    // Adds words that are already cut and normalized. Ignores words of no bytes or count 0. Throws Error(argument) if
    // the total would exceed 2^64 - 1.
    void add_words(const std::vector<CountedWord>& words);

    // All unique words and their counts, in any order. They point into the counter's memory and are valid until the
    // next add. A raw word and a UTF-8 word (an added token) of equal characters are two words.
    std::vector<CountedWord> words() const;

    // The state after the last finished call. Any thread may read it.
    uint64_t unique() const { return unique_; }
    uint64_t total() const { return total_; }  // words
    uint64_t bytes() const { return bytes_; }  // of text in UTF-8; for add_words, each word's bytes times its count

  private:
    struct Impl;
    class Call;

    std::unique_ptr<Impl> impl_;
    std::atomic<uint64_t> unique_{0}, total_{0}, bytes_{0};
};

}  // namespace crayon
