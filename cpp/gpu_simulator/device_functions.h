// The built-ins of nvcc and hipcc, so that the device branches of cpp/gpu compile for the CPU and run in the
// simulator's lanes. CRAYON_SIMULATES_HIP selects HIP's branches. Include it before anything of cpp/gpu.
//
// `gpu` is another namespace here, because kernels compiled in three ways meet in one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lanes.h"

#ifdef CRAYON_SIMULATES_HIP
#define gpu gpu_of_hip
#define __HIP_DEVICE_COMPILE__ 1
#else
#define gpu gpu_of_cuda
#define __CUDA_ARCH__ 800
#endif
#define __device__

// A static variable gives each instance of a function an address of its own.
#define CRAYON_HERE                                                           \
    (__extension__({                                                          \
        static char place;                                                    \
        ::crayon::gpu_simulator::Site{&place, __PRETTY_FUNCTION__, __LINE__}; \
    }))

#define threadIdx (::crayon::gpu_simulator::ThreadIndex{::crayon::gpu_simulator::thread_index()})
#define __syncthreads() ::crayon::gpu_simulator::meet_in_block(CRAYON_HERE)

namespace crayon {
namespace gpu_simulator {

struct ThreadIndex {
    uint32_t x;
};

template <typename T>
T exchanged(const Site& site, uint64_t lanes, T value, uint32_t from) {
    static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable<T>::value, "a register or two");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = exchange(site, lanes, bits, from);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Shuffles divide a warp into parts of `width` lanes, and number lanes within a part. A lane takes its own value if the
// source lane would be in another part, except that `xor` also reaches earlier parts.
inline uint32_t from_lane(uint32_t lane, uint32_t width) {
    return (lane_in_warp() & ~(width - 1)) | (lane & (width - 1));
}
inline uint32_t from_xor(uint32_t lanes, uint32_t width) {
    const uint32_t lane = lane_in_warp(), other = lane ^ lanes;
    return other / width <= lane / width ? other : lane;
}
inline uint32_t from_up(uint32_t lanes, uint32_t width) {
    return lane_in_warp() % width >= lanes ? lane_in_warp() - lanes : lane_in_warp();
}

// The lanes of this lane's part.
inline uint64_t part_of(uint32_t width) {
    const uint64_t part = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
    return part << (lane_in_warp() & ~(width - 1));
}

inline void fenced_meeting(const Site& site, uint64_t lanes) {
    fence();
    meet_in_warp(site, lanes);
}

}  // namespace gpu_simulator
}  // namespace crayon

#ifdef CRAYON_SIMULATES_HIP

// These instructions do not name lanes: the lanes of one part continue together. A barrier has the width of its
// caller's group.
#define __shfl(value, lane, width)                                                                            \
    ::crayon::gpu_simulator::exchanged(CRAYON_HERE, ::crayon::gpu_simulator::part_of(uint32_t(width)), value, \
                                       ::crayon::gpu_simulator::from_lane(uint32_t(lane), uint32_t(width)))
#define __shfl_xor(value, lanes, width)                                                                       \
    ::crayon::gpu_simulator::exchanged(CRAYON_HERE, ::crayon::gpu_simulator::part_of(uint32_t(width)), value, \
                                       ::crayon::gpu_simulator::from_xor(uint32_t(lanes), uint32_t(width)))
#define __shfl_up(value, lanes, width)                                                                        \
    ::crayon::gpu_simulator::exchanged(CRAYON_HERE, ::crayon::gpu_simulator::part_of(uint32_t(width)), value, \
                                       ::crayon::gpu_simulator::from_up(uint32_t(lanes), uint32_t(width)))
#define __builtin_amdgcn_fence(order, scope) ::crayon::gpu_simulator::fence()
#define __builtin_amdgcn_wave_barrier() \
    ::crayon::gpu_simulator::meet_in_warp(CRAYON_HERE, ::crayon::gpu_simulator::part_of(kWidth))

#else

#define __shfl_sync(mask, value, lane, width)                    \
    ::crayon::gpu_simulator::exchanged(CRAYON_HERE, mask, value, \
                                       ::crayon::gpu_simulator::from_lane(uint32_t(lane), uint32_t(width)))
#define __shfl_xor_sync(mask, value, lanes, width)               \
    ::crayon::gpu_simulator::exchanged(CRAYON_HERE, mask, value, \
                                       ::crayon::gpu_simulator::from_xor(uint32_t(lanes), uint32_t(width)))
#define __shfl_up_sync(mask, value, lanes, width)                \
    ::crayon::gpu_simulator::exchanged(CRAYON_HERE, mask, value, \
                                       ::crayon::gpu_simulator::from_up(uint32_t(lanes), uint32_t(width)))
#define __syncwarp(mask) ::crayon::gpu_simulator::fenced_meeting(CRAYON_HERE, mask)

#endif

// -- atomic memory operations, and bits

template <typename T>
T atomicOr(T* place, T value) {
    ::crayon::gpu_simulator::let_others();
    return __atomic_fetch_or(place, value, __ATOMIC_RELAXED);
}
template <typename T>
T atomicAnd(T* place, T value) {
    ::crayon::gpu_simulator::let_others();
    return __atomic_fetch_and(place, value, __ATOMIC_RELAXED);
}
template <typename T>
T atomicAdd(T* place, T value) {
    ::crayon::gpu_simulator::let_others();
    return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
}
template <typename T>
T atomicMax(T* place, T value) {
    ::crayon::gpu_simulator::let_others();
    T before = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (before < value &&
           !__atomic_compare_exchange_n(place, &before, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return before;
}
template <typename T>
T atomicCAS(T* place, T expected, T value) {
    ::crayon::gpu_simulator::let_others();
    (void)__atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

inline int __popc(uint32_t word) {
    return __builtin_popcount(word);
}
inline int __ffs(int word) {
    return __builtin_ffs(word);
}
inline int __ffsll(long long word) {
    return __builtin_ffsll(word);
}
inline int __clz(int word) {
    return word == 0 ? 32 : __builtin_clz(unsigned(word));
}
inline int __clzll(long long word) {
    return word == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(word));
}
