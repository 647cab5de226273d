// The engine for NVIDIA GPUs: CUDA's names for the definitions that gpu_device.h needs.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <mutex>
#include <string>

#define CRAYON_RUNTIME(name) cuda##name
#define CRAYON_CONSTANT __grid_constant__
// Asks for at least 1,024 threads per processor. For more, ptxas would leave each thread few registers and spill the
// rest. Some devices have room for only 16 blocks per processor, and ptxas refuses a larger number.
#define CRAYON_LAUNCH_BOUNDS(threads) __launch_bounds__(threads, (threads) < 64 ? 16 : 1024 / (threads))

namespace crayon {
namespace gpu {
namespace {

namespace runtime {

using Properties = cudaDeviceProp;

constexpr char kKind[] = "cuda", kDriver[] = "NVIDIA driver", kNoDevice[] = "CUDA finds no usable device";

inline std::string version(int number) {
    return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

// Pinned memory that is pinned for all devices.
inline cudaError_t allocate_pinned(void** memory, size_t bytes) {
    return cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
}
inline cudaError_t release_pinned(void* memory) {
    return cudaFreeHost(memory);
}

inline bool is_memory_of(const void* memory, int device) {
    cudaPointerAttributes found{};
    if (cudaPointerGetAttributes(&found, memory) != cudaSuccess) return false;
    return found.type == cudaMemoryTypeManaged || (found.type == cudaMemoryTypeDevice && found.device == device);
}

inline std::string architecture(const Properties& properties) {
    return "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
}

// CUDA's error codes for an unusable device, in addition to the codes that CUDA and HIP share.
constexpr bool is_unusable(cudaError_t error) {
    switch (error) {
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorUnsupportedPtxVersion:
        case cudaErrorJitCompilerNotFound:
        case cudaErrorJitCompilationDisabled:
        case cudaErrorInvalidPtx:
        case cudaErrorDevicesUnavailable:
        case cudaErrorStubLibrary:
        case cudaErrorSystemNotReady:
        case cudaErrorSystemDriverMismatch:
        case cudaErrorCompatNotSupportedOnDevice:
            return true;
        default:
            return false;
    }
}

constexpr bool is_sticky(cudaError_t error) {
    switch (error) {
        case cudaErrorCudartUnloading:
        case cudaErrorDeviceUninitialized:
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorLaunchTimeout:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
#if CUDART_VERSION >= 12000
        case cudaErrorMpsRpcFailure:
        case cudaErrorMpsClientTerminated:
        case cudaErrorExternalDevice:
#endif
#if CUDART_VERSION >= 13000
        case cudaErrorContained:
        case cudaErrorTensorMemoryLeak:
#endif
            return true;
        default:
            return false;
    }
}
static_assert(is_sticky(cudaErrorHardwareStackError) && is_sticky(cudaErrorECCUncorrectable), "as CUDA has them");

// Another thread may be capturing a graph, which by default forbids allocations in all threads. Our work is not
// captured.
class BesideCaptures {
  public:
    BesideCaptures() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
    BesideCaptures(const BesideCaptures&) = delete;
    BesideCaptures& operator=(const BesideCaptures&) = delete;
    ~BesideCaptures() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

  private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Functions of CUDA's driver that its runtime lacks.
struct Driver {
    int (*device)(int* device, int index) = nullptr;
    int (*retain)(void** context, int device) = nullptr;
    int (*push)(void* context) = nullptr;
    int (*pop)(void** context) = nullptr;

    Driver() {
        void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
        if (library == nullptr) return;
        find(library, "cuDeviceGet", &device);
        find(library, "cuDevicePrimaryCtxRetain", &retain);
        find(library, "cuCtxPushCurrent_v2", &push);
        find(library, "cuCtxPopCurrent_v2", &pop);
    }
    static const Driver& loaded() {
        static const Driver driver;
        return driver;
    }
    bool is_complete() const { return device != nullptr && retain != nullptr && push != nullptr && pop != nullptr; }

  private:
    template <typename F>
    static void find(void* library, const char* name, F* function) {
        *function = reinterpret_cast<F>(dlsym(library, name));
    }
};

// The device's primary context, made current for a thread with the driver's stack of contexts. cudaSetDevice would need
// a second call to restore the previous device. If that device is unused, this call would create a context there, which
// takes some hundred megabytes. (CUDA C++ Programming Guide, "Driver API": the runtime uses the current context.)
class Context {
  public:
    explicit Context(int index) : index_(index) {}

    cudaError_t enter(int*) {
        const Driver& driver = Driver::loaded();
        if (!driver.is_complete()) return cudaErrorInitializationError;
        std::call_once(once_, [&] {
            int device = 0;
            error_ = driver.device(&device, index_);
            if (error_ == 0) error_ = driver.retain(&context_, device);
        });
        // The driver's errors have the runtime's numbers.
        return static_cast<cudaError_t>(error_ != 0 ? error_ : driver.push(context_));
    }
    void leave(int) {
        void* context = nullptr;
        (void)Driver::loaded().pop(&context);
    }

  private:
    const int index_;
    std::once_flag once_;
    int error_ = 0;
    void* context_ = nullptr;
};

}  // namespace runtime
}  // namespace
}  // namespace gpu
}  // namespace crayon

#include "gpu/gpu_device.h"
