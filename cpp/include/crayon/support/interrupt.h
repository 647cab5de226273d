// How a call of many tasks learns that it is to stop: the thread that called looks now and then.
#pragma once

#include <atomic>
#include <chrono>

namespace crayon {

// Throws when the call is to stop; null where nothing stops one. For the whole process.
inline std::atomic<void (*)()> interrupt_check{nullptr};

// Between two looks; also the longest sleep of a thread that should look.
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
