// The engine on NVIDIA's GPUs: what CUDA calls the things that gpu_device.h is made of.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <mutex>
#include <string>

#define CRAYON_RUNTIME(name) cuda##name
#define CRAYON_CONSTANT __grid_constant__
// With at least 1,024 threads to a processor: for more, ptxas would give a thread few registers and spill the rest.
// A processor has room for no more than 16 blocks on some devices, and ptxas then refuses to be asked for more.
#define CRAYON_LAUNCH_BOUNDS(threads) __launch_bounds__(threads, (threads) < 64 ? 16 : 1024 / (threads))

namespace crayon {
namespace gpu {
namespace {

namespace runtime {

using Properties = cudaDeviceProp;

constexpr char kKind[] = "cuda", kDriver[] = "NVIDIA driver", kNoDevice[] = "there is no device that CUDA can use";

inline std::string version(int number) {
    return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

// Of pinned memory that is pinned for all devices.
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

// Besides those that CUDA and HIP both have.
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

// Another thread may record a graph, by default so that no thread may allocate meanwhile. Nothing of ours goes into it.
class BesideCaptures {
  public:
    BesideCaptures() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
    BesideCaptures(const BesideCaptures&) = delete;
    BesideCaptures& operator=(const BesideCaptures&) = delete;
    ~BesideCaptures() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

  private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// What CUDA's driver does and its runtime does not.
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

// A device's context that all of the process share, to be made a thread's current one. By the driver's stack of them:
// cudaSetDevice would have to be undone by making the device before current, and where nothing uses that one, this
// would begin a context there, which takes some hundred megabytes of its memory. (CUDA C++ Programming Guide, "Driver
// API": the runtime uses the context that is current.)
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
