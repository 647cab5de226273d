// Reports the progress of a training a few times a second. The callback can throw to end the training.
#pragma once

#include <chrono>
#include <cstdint>

#include "crayon/training/training.h"

namespace crayon {

class TrainingReport {
  public:
    explicit TrainingReport(const Progress& progress) : progress_(progress) {}

    void begin(const char* stage, uint64_t total) {
        stage_ = stage;
        total_ = total;
        tell(0);
    }
    // Reads the clock each time: call it once per larger piece of work.
    void at(uint64_t done) {
        if (Clock::now() >= next_) tell(done);
    }
    // Does what at() does, after a small piece of work: reads the clock once in kCalls calls.
    void at_times(uint64_t done) {
        if (++calls_ % kCalls == 0) at(done);
    }
    void end() { tell(total_); }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr uint32_t kCalls = 1 << 12;

    void tell(uint64_t done) {
        if (progress_) progress_(stage_, done, total_);
        next_ = Clock::now() + std::chrono::milliseconds(100);
    }

    const Progress& progress_;
    const char* stage_ = "";
    uint64_t total_ = 0;
    uint32_t calls_ = 0;
    Clock::time_point next_;
};

}  // namespace crayon
