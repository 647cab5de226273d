// The engine for AMD GPUs: HIP's names for the definitions that gpu_device.h needs.
#include <hip/hip_runtime.h>

#include <string>

#define CRAYON_RUNTIME(name) hip##name
#define CRAYON_CONSTANT
#define CRAYON_LAUNCH_BOUNDS(threads) __launch_bounds__(threads)

namespace crayon {
namespace gpu {
namespace {

namespace runtime {

using Properties = hipDeviceProp_t;

constexpr char kKind[] = "rocm", kDriver[] = "AMD driver";
constexpr char kNoDevice[] = "ROCm finds no usable device: is /dev/kfd readable and writable?";

inline std::string version(int number) {
    return "HIP " + std::to_string(number / 10000000) + "." + std::to_string(number / 100000 % 100);
}

// Pinned memory that is pinned for all devices.
inline hipError_t allocate_pinned(void** memory, size_t bytes) {
    return hipHostMalloc(memory, bytes, hipHostMallocPortable);
}
inline hipError_t release_pinned(void* memory) {
    return hipHostFree(memory);
}

inline bool is_memory_of(const void* memory, int device) {
    hipPointerAttribute_t found{};
    return hipPointerGetAttributes(&found, memory) == hipSuccess && found.device == device;
}

// Drops the device's settings behind a colon, as in gfx90a:sramecc+:xnack-.
inline std::string architecture(const Properties& properties) {
    const std::string name = properties.gcnArchName;
    return name.substr(0, name.find(':'));
}

// HIP's error codes for an unusable device, in addition to the codes that CUDA and HIP share.
constexpr bool is_unusable(hipError_t error) {
    return error == hipErrorNoBinaryForGpu || error == hipErrorSharedObjectInitFailed;
}

constexpr bool is_sticky(hipError_t error) {
    return error == hipErrorDeinitialized || error == hipErrorInvalidContext || error == hipErrorECCNotCorrectable ||
           error == hipErrorLaunchTimeOut || error == hipErrorRuntimeOther;
}

// Another thread may be capturing a graph, which by default forbids allocations in all threads. Our work is not
// captured.
class BesideCaptures {
  public:
#if HIP_VERSION_MAJOR < 6
    BesideCaptures() {}
#else
    BesideCaptures() {
        (void)hipThreadExchangeStreamCaptureMode(&mode_);
    }
    BesideCaptures(const BesideCaptures&) = delete;
    BesideCaptures& operator=(const BesideCaptures&) = delete;
    ~BesideCaptures() {
        (void)hipThreadExchangeStreamCaptureMode(&mode_);
    }

  private:
    hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
#endif
};

// Makes a device current for a thread. Takes no memory of the device.
class Context {
  public:
    explicit Context(int device) : device_(device) {}

    hipError_t enter(int* previous) {
        const hipError_t error = hipGetDevice(previous);
        return error == hipSuccess ? hipSetDevice(device_) : error;
    }
    void leave(int previous) { (void)hipSetDevice(previous); }

  private:
    const int device_;
};

}  // namespace runtime
}  // namespace
}  // namespace gpu
}  // namespace crayon

#include "gpu/gpu_device.h"
