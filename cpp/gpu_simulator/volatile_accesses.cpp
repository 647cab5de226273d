// What GCC calls at volatile accesses, where ThreadSanitizer is to tell them from others (gpu_simulator.py): nothing.
// They are no races for a GPU, whose memory model takes them for relaxed atomic operations.
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
