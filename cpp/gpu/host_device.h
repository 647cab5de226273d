// The kernels on the CPU, one thread after the other: for tests, and to see what a kernel does where there is no GPU.
#pragma once

#include <memory>

#include "device.h"

namespace crayon {
namespace gpu {

// `budget`: bytes of memory that it pretends to have.
std::unique_ptr<Device> make_host_device(size_t budget);

}  // namespace gpu
}  // namespace crayon
