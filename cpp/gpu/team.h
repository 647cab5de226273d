// Lets each kernel be written once, for GPUs and for the CPU.
//
// A team is all threads of a block, or some neighbours among them. `team.each(f)` runs f(lane) in all lanes; afterwards
// every lane sees what all have written. On a GPU each lane is a thread, and a barrier follows f. On the CPU one thread
// runs f for one lane after the other. A lane keeps a value from one `each` to the next in a PerLane. Tests without a
// GPU thus run the same functions, and in cpp/gpu_simulator also the branches for GPUs.
//
// Example:
//    PerLane<uint32_t, 256> own;
//    block.each([&](uint32_t lane) { own[lane] = lane; });
//    const uint32_t total = block.exclusive_sum(own, shared);  // own: 0 0 1 3 6 10 ...
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/support/device_code.h"

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define CRAYON_ON_DEVICE 1
#else
#define CRAYON_ON_DEVICE 0
#endif

namespace crayon {
namespace gpu {

template <typename T, uint32_t kLanes>
class PerLane {
  public:
#if CRAYON_ON_DEVICE
    CRAYON_DEVICE T& operator[](uint32_t) {
        return value_;
    }
    CRAYON_DEVICE const T& operator[](uint32_t) const {
        return value_;
    }

  private:
    T value_;
#else
    CRAYON_DEVICE T& operator[](uint32_t lane) {
        return values_[lane];
    }
    CRAYON_DEVICE const T& operator[](uint32_t lane) const {
        return values_[lane];
    }

  private:
    T values_[kLanes];
#endif
};

// -- atomic operations, which are plain on the CPU's single thread

CRAYON_DEVICE inline void atomic_or(uint32_t* word, uint32_t bits) {
#if CRAYON_ON_DEVICE
    atomicOr(word, bits);
#else
    *word |= bits;
#endif
}

CRAYON_DEVICE inline void atomic_and(uint32_t* word, uint32_t bits) {
#if CRAYON_ON_DEVICE
    atomicAnd(word, bits);
#else
    *word &= bits;
#endif
}

CRAYON_DEVICE inline void atomic_max(uint32_t* word, uint32_t value) {
#if CRAYON_ON_DEVICE
    atomicMax(word, value);
#else
    if (*word < value) *word = value;
#endif
}

// Returns the previous value.
CRAYON_DEVICE inline uint32_t atomic_add(uint32_t* word, uint32_t value) {
#if CRAYON_ON_DEVICE
    return atomicAdd(word, value);
#else
    const uint32_t before = *word;
    *word += value;
    return before;
#endif
}

// Writes a nonzero value if the word is zero. Returns the previous value.
CRAYON_DEVICE inline uint32_t atomic_put(uint32_t* word, uint32_t value) {
#if CRAYON_ON_DEVICE
    return atomicCAS(word, 0u, value);
#else
    const uint32_t before = *word;
    if (before == 0) *word = value;
    return before;
#endif
}
CRAYON_DEVICE inline uint64_t atomic_put(uint64_t* word, uint64_t value) {
#if CRAYON_ON_DEVICE
    return atomicCAS(reinterpret_cast<unsigned long long*>(word), 0ull, static_cast<unsigned long long>(value));
#else
    const uint64_t before = *word;
    if (before == 0) *word = value;
    return before;
#endif
}

// -- bits

CRAYON_DEVICE inline uint32_t count_bits(uint32_t word) {
#if CRAYON_ON_DEVICE
    return uint32_t(__popc(word));
#else
    uint32_t count = 0;
    for (; word != 0; word &= word - 1) ++count;
    return count;
#endif
}

// `word` must not be zero.
CRAYON_DEVICE inline uint32_t lowest_one(uint32_t word) {
#if CRAYON_ON_DEVICE
    return uint32_t(__ffs(int(word))) - 1;
#else
    uint32_t at = 0;
    while (!(word >> at & 1)) ++at;
    return at;
#endif
}
CRAYON_DEVICE inline uint32_t highest_one(uint32_t word) {
#if CRAYON_ON_DEVICE
    return 31 - uint32_t(__clz(int(word)));
#else
    uint32_t at = 31;
    while (!(word >> at & 1)) --at;
    return at;
#endif
}
CRAYON_DEVICE inline uint32_t ones_below(uint32_t bit) {
    return bit >= 32 ? ~uint32_t(0) : (uint32_t(1) << bit) - 1;
}

#if CRAYON_ON_DEVICE
// Exchanges values between `width` consecutive threads of one warp or part of a wavefront.
template <typename T>
__device__ inline T shuffle_xor(uint32_t mask, T value, uint32_t lanes, uint32_t width) {
#if defined(__CUDA_ARCH__)
    return __shfl_xor_sync(mask, value, int(lanes), int(width));
#else
    (void)mask;
    return __shfl_xor(value, int(lanes), int(width));
#endif
}
template <typename T>
__device__ inline T shuffle_up(uint32_t mask, T value, uint32_t lanes, uint32_t width) {
#if defined(__CUDA_ARCH__)
    return __shfl_up_sync(mask, value, lanes, int(width));
#else
    (void)mask;
    return __shfl_up(value, lanes, int(width));
#endif
}
template <typename T>
__device__ inline T shuffle_from(uint32_t mask, T value, uint32_t lane, uint32_t width) {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(mask, value, int(lane), int(width));
#else
    (void)mask;
    return __shfl(value, int(lane), int(width));
#endif
}
#endif

// 32 consecutive threads of a block.
class Group {
  public:
    static constexpr uint32_t kWidth = 32;

    template <typename F>
    CRAYON_DEVICE void each(F&& f) const {
#if CRAYON_ON_DEVICE
        f(threadIdx.x % kWidth);
        wait();
#else
        for (uint32_t lane = 0; lane < kWidth; ++lane) f(lane);
#endif
    }

    CRAYON_DEVICE uint32_t least(const PerLane<uint32_t, kWidth>& values) const {
#if CRAYON_ON_DEVICE
        uint32_t least = values[0];
        for (uint32_t lanes = kWidth / 2; lanes > 0; lanes /= 2) {
            const uint32_t other = shuffle_xor(~uint32_t(0), least, lanes, kWidth);
            least = other < least ? other : least;
        }
        return least;
#else
        uint32_t least = values[0];
        for (uint32_t lane = 1; lane < kWidth; ++lane) least = values[lane] < least ? values[lane] : least;
        return least;
#endif
    }

  private:
#if CRAYON_ON_DEVICE
    __device__ static void wait() {
#if defined(__CUDA_ARCH__)
        __syncwarp(~uint32_t(0));
#else
        // The threads of a wavefront run in lockstep. The fence orders their accesses to shared memory; one at the
        // scope of the wavefront would only stop the compiler from moving them.
        __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
        __builtin_amdgcn_wave_barrier();
#endif
    }
#endif
};

// All threads of a block. kThreads is a multiple of 32, at most 1024.
template <uint32_t kThreads>
class Block {
  public:
    static constexpr uint32_t kLanes = kThreads;
    static constexpr uint32_t kWarp = 32;

    // Shared memory for the block's sums.
    struct Sums {
        uint32_t of_warp[kThreads / kWarp];
    };

    CRAYON_DEVICE explicit Block(uint32_t index) : index_(index) {}
    CRAYON_DEVICE uint32_t index() const { return index_; }

    template <typename F>
    CRAYON_DEVICE void each(F&& f) const {
#if CRAYON_ON_DEVICE
        f(uint32_t(threadIdx.x));
        __syncthreads();
#else
        for (uint32_t lane = 0; lane < kThreads; ++lane) f(lane);
#endif
    }

    // Runs f in one lane; the others wait.
    template <typename F>
    CRAYON_DEVICE void once(F&& f) const {
#if CRAYON_ON_DEVICE
        if (threadIdx.x == 0) f();
        __syncthreads();
#else
        f();
#endif
    }

    // Calls f(group, index of the group in the block). Groups of one wavefront may diverge: a waiting lane delays only
    // its own group.
    template <typename F>
    CRAYON_DEVICE void groups(F&& f) const {
#if CRAYON_ON_DEVICE
        f(Group(), uint32_t(threadIdx.x / Group::kWidth));
        __syncthreads();
#else
        for (uint32_t i = 0; i < kThreads / Group::kWidth; ++i) f(Group(), i);
#endif
    }

    // Replaces each value by the sum of those before it. Returns the total.
    CRAYON_DEVICE uint32_t exclusive_sum(PerLane<uint32_t, kThreads>& values, Sums& shared) const {
#if CRAYON_ON_DEVICE
        const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, own = values[0];
        const uint32_t sum = sum_up_to(own);
        if (lane == kWarp - 1) shared.of_warp[warp] = sum;
        __syncthreads();
        // Each warp adds up all warps' sums, which saves a second barrier.
        const uint32_t warps = sum_up_to(lane < kThreads / kWarp ? shared.of_warp[lane] : 0);
        const uint32_t before = shuffle_from(~uint32_t(0), warps, warp > 0 ? warp - 1 : 0, kWarp);
        const uint32_t total = shuffle_from(~uint32_t(0), warps, kWarp - 1, kWarp);
        values[0] = sum - own + (warp > 0 ? before : 0);
        __syncthreads();  // `shared` may be reused
        return total;
#else
        uint32_t total = 0;
        for (uint32_t lane = 0; lane < kThreads; ++lane) {
            const uint32_t own = values[lane];
            values[lane] = total;
            total += own;
        }
        (void)shared;
        return total;
#endif
    }

  private:
#if CRAYON_ON_DEVICE
    // The inclusive sum over the lanes of a warp.
    __device__ static uint32_t sum_up_to(uint32_t value) {
        const uint32_t lane = threadIdx.x % kWarp;
        for (uint32_t lanes = 1; lanes < kWarp; lanes *= 2) {
            const uint32_t before = shuffle_up(~uint32_t(0), value, lanes, kWarp);
            if (lane >= lanes) value += before;
        }
        return value;
    }
#endif

    uint32_t index_;
};

}  // namespace gpu
}  // namespace crayon
