// Shared by the bindings of training: the word counter and progress callbacks.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bindings/bindings.h"
#include "crayon/training/training.h"
#include "crayon/training/word_counter.h"

namespace crayon::python {

struct PyWordCounter {
    PyWordCounter(std::shared_ptr<const Engine> engine, size_t threads, bool replaces, bool added_tokens)
        : counter(std::move(engine), threads, added_tokens), replaces_surrogates(replaces) {}

    WordCounter counter;
    const bool replaces_surrogates;  // whether add() replaces lone surrogates in texts, as the engine's encoding calls
                                     // do
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

// Exclusive use of the counter's words. Raises RuntimeError if another call uses them, also if that call is running a
// progress callback.
class UsesCounter {
  public:
    explicit UsesCounter(PyWordCounter& counter) : counter_(counter) {
        if (counter_.busy.test_and_set())
            throw std::runtime_error("another call is using this WordCounter: wait for it, or use another WordCounter");
    }
    ~UsesCounter() { counter_.busy.clear(); }
    UsesCounter(const UsesCounter&) = delete;
    UsesCounter& operator=(const UsesCounter&) = delete;

  private:
    PyWordCounter& counter_;
};

// Returns a Progress that takes the GIL, checks for an interrupt, and calls `callback` unless it is None. `callback` is
// borrowed and must outlive the result. Raises TypeError if `callback` is not callable.
Progress progress_of(py::handle callback);

}  // namespace crayon::python
