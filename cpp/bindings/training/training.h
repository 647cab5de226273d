// Shared by the bindings of training: the counter of words, and what is called while long work goes on.
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
    PyWordCounter(std::shared_ptr<const Engine> engine, size_t threads, bool replaces)
        : counter(std::move(engine), threads), replaces_surrogates(replaces) {}

    WordCounter counter;
    const bool replaces_surrogates;  // in texts: as the engine's encoding calls do
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

// Nobody else may use the counter's words meanwhile: RuntimeError, also for who comes back from a progress callback.
class UsesCounter {
  public:
    explicit UsesCounter(PyWordCounter& counter) : counter_(counter) {
        if (counter_.busy.test_and_set()) throw std::runtime_error("the WordCounter is busy: another call uses it");
    }
    ~UsesCounter() { counter_.busy.clear(); }
    UsesCounter(const UsesCounter&) = delete;
    UsesCounter& operator=(const UsesCounter&) = delete;

  private:
    PyWordCounter& counter_;
};

// Takes the GIL, looks for an interrupt, then calls `callback` unless it is None. That is borrowed, and has to live as
// long. TypeError if it cannot be called.
Progress progress_of(py::handle callback);

}  // namespace crayon::python
