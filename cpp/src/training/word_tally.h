// One thread's count of the words of texts.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/bytes.h"
#include "encode/run/task_runner.h"
#include "engine/engine_impl.h"
#include "engine/scratch.h"
#include "training/word_count_table.h"

namespace crayon {

class WordTally {
  public:
    explicit WordTally(bool counts_added) : counts_added_(counts_added) {}

    WordCountTable table;  // lacks the words that are still prefetched, until flush()
    uint64_t total = 0;    // in words
    uint64_t bytes = 0;    // of text

    // Counts the words of a text, or of a part of a text; `continues` if it is not the first part. If the text is
    // inside `readable`, reads may go beyond the text, up to the end of `readable`. Polls between blocks of words.
    void count(const Engine& engine, Bytes text, bool continues, Bytes readable, Scratch& scratch, const Poll& poll);
    // Counts a word that is already cut.
    void add(Bytes word, uint64_t kind, uint64_t n);
    void flush();
    void clear();

  private:
    // A word of up to kWordKeyBytes whose table entry is being prefetched.
    static constexpr size_t kBlock = 256;
    struct Waiting {
        uint64_t lo, hi, hash;
    };

    template <typename StartOf, typename EndOf>
    void count_block(Bytes text, size_t n, uint64_t kind, const uint8_t* limit, StartOf start_of, EndOf end_of);
    void wait_for(WordKey key, uint64_t kind);
    void add_long(Bytes word, uint64_t kind, uint64_t n);

    const bool counts_added_;  // whether added tokens count as words
    Waiting waiting_[kBlock];
    size_t n_waiting_ = 0;
};

}  // namespace crayon
