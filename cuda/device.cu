// The engine on NVIDIA's GPUs: what CUDA calls the things that gpu_device.h is made of.
#include <cuda_runtime.h>
#include <dlfcn.h>

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

// Whether something in this process uses the device already: making it current would begin that, which takes some
// hundred megabytes of its memory. The runtime does not tell; the driver, which it has loaded, does.
inline bool is_active(int device) {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return false;
    const auto get_state = reinterpret_cast<int (*)(int, unsigned*, int*)>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
    unsigned flags = 0;
    int is_active = 0;
    const bool is_known = get_state != nullptr && get_state(device, &flags, &is_active) == 0;
    dlclose(driver);
    return is_known && is_active != 0;
}

}  // namespace runtime
}  // namespace
}  // namespace gpu
}  // namespace crayon

#include "gpu/gpu_device.h"
