// The kernels on the CPU, one thread after the other: for tests, and to see what a kernel does where there is no GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device.h"

namespace crayon {
namespace gpu {

// Runs all blocks of a kernel. Returns what went wrong, or "": then the device is lost.
using RunKernel = std::function<std::string(Kernel kernel, uint32_t blocks, const Work& work)>;

// `budget`: bytes of memory that it pretends to have. `run`: another way to run kernels (cpp/gpu_simulator).
std::unique_ptr<Device> make_host_device(size_t budget, RunKernel run = nullptr);

}  // namespace gpu
}  // namespace crayon
