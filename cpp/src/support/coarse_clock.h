// Milliseconds of a steady clock that is very cheap to read and lags some milliseconds.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__linux__)
#include <time.h>
#endif

namespace crayon {

inline int64_t coarse_milliseconds() {
#if defined(__linux__) && defined(CLOCK_MONOTONIC_COARSE)
    timespec time;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &time) == 0) return int64_t(time.tv_sec) * 1000 + time.tv_nsec / 1000000;
#endif
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace crayon
