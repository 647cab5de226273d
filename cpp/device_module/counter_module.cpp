// The extension module _gpu_counter, which tools/gpu_counter.py builds. It is not part of the package.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "bindings/device/device_capsule.h"
#include "gpu/host_device.h"
#include "gpu_counter/counted_kernels.h"
#include "gpu_counter/lock_step.h"

namespace py = pybind11;
namespace gpu = crayon::gpu;
namespace counter = crayon::gpu_counter;

namespace {

using Counts = std::map<std::string, std::pair<uint64_t, uint64_t>>;

// The lock for kernel launches, which run one after the other because they share one counter.
std::mutex& alone() {
    static std::mutex mutex;
    return mutex;
}
Counts& counted() {
    static Counts counts;
    return counts;
}

std::string run(uint32_t warp, gpu::Kernel kernel, uint32_t blocks, const gpu::Work& work) {
    const std::lock_guard<std::mutex> lock(alone());
    counter::set_warp(warp);
    counter::run_counted(uint32_t(kernel), blocks, &work);
    const counter::Count count = counter::take_count();
    auto& all = counted()[counter::name_of(uint32_t(kernel))];
    all.first += count.of_warps;
    all.second += count.of_lanes;
    return "";
}

py::object open(size_t budget_bytes, uint32_t warp) {
    if (warp != 32 && warp != 64) throw py::value_error("a warp has 32 or 64 lanes, not " + std::to_string(warp));
    return crayon::python::capsule_of(
        gpu::make_host_device(budget_bytes, [warp](gpu::Kernel kernel, uint32_t blocks, const gpu::Work& work) {
            return run(warp, kernel, blocks, work);
        }));
}

Counts take() {
    const std::lock_guard<std::mutex> lock(alone());
    return std::exchange(counted(), {});
}

}  // namespace

PYBIND11_MODULE(_gpu_counter, m, py::mod_gil_not_used()) {
    m.doc() = "Kernels for GPUs, counted.";
    m.def("open", open, py::arg("budget_bytes"), py::kw_only(), py::arg("warp") = 32,
          "Return a device for crayon_hf._core, in a capsule. It pretends to have `memory` bytes, runs one lane after "
          "the other, and counts the instructions that warps of `warp` lanes would issue.");
    m.def("take", take, "Return (instructions of warps, instructions of lanes) of each kernel since the last call.");
}
