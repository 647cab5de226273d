// Interrupts long calls: the calling thread polls for a reason to stop.
#pragma once

#include <atomic>
#include <chrono>

namespace crayon {

// The process's only check, which throws if the call should stop. The pointer is null if nothing can interrupt calls.
inline std::atomic<void (*)()> interrupt_check{nullptr};

// Time between two polls, and the longest sleep of a thread that has to poll.
constexpr auto kLookAfter = std::chrono::milliseconds(50);

class InterruptWatch {
  public:
    // Throws what interrupt_check throws.
    void look_now_and_then() {
        const auto now = std::chrono::steady_clock::now();
        if (now < due_) return;
        const bool is_first = due_ == Time();
        due_ = now + kLookAfter;
        auto* const check = interrupt_check.load();
        if (check != nullptr && !is_first) check();
    }

  private:
    using Time = std::chrono::steady_clock::time_point;
    Time due_;
};

}  // namespace crayon
