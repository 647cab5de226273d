// The calls that GCC emits for volatile accesses when ThreadSanitizer should distinguish them (gpu_simulator.py); they
// do nothing. Volatile accesses are not races for a GPU, whose memory model treats them as relaxed atomic operations.
#define CRAYON_NOTHING(size)                                                                             \
    extern "C" __attribute__((visibility("hidden"))) void __tsan_volatile_read##size(void*) {}           \
    extern "C" __attribute__((visibility("hidden"))) void __tsan_volatile_write##size(void*) {}          \
    extern "C" __attribute__((visibility("hidden"))) void __tsan_unaligned_volatile_read##size(void*) {} \
    extern "C" __attribute__((visibility("hidden"))) void __tsan_unaligned_volatile_write##size(void*) {}

CRAYON_NOTHING(1)
CRAYON_NOTHING(2)
CRAYON_NOTHING(4)
CRAYON_NOTHING(8)
CRAYON_NOTHING(16)
