// The extension module _gpu_simulator, which tests build. It is not part of the package.
#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/device/device_capsule.h"
#include "gpu/host_device.h"
#include "gpu_simulator/simulator.h"

namespace py = pybind11;
namespace gpu = crayon::gpu;
namespace simulator = crayon::gpu_simulator;

namespace {

py::object open(size_t budget_bytes, const std::string& runtime, uint32_t warp, uint32_t blocks, uint64_t seed) {
    const bool is_cuda = runtime == "cuda";
    if (!is_cuda && runtime != "hip") throw py::value_error("runtime is " + runtime + ", expected cuda or hip");
    if (warp != 32 && (is_cuda || warp != 64))
        throw py::value_error("a warp has 32 lanes, and of hip 32 or 64, not " + std::to_string(warp));
    if (blocks < 1 || blocks > 64) throw py::value_error("blocks is " + std::to_string(blocks) + ", expected 1 to 64");
    simulator::Options options;
    options.runtime = is_cuda ? simulator::Runtime::cuda : simulator::Runtime::hip;
    options.warp = warp;
    options.blocks = blocks;
    options.seed = seed;
    const auto runner = std::make_shared<simulator::Simulator>(options);
    return crayon::python::capsule_of(
        gpu::make_host_device(budget_bytes, [runner](gpu::Kernel kernel, uint32_t n, const gpu::Work& work) {
            return runner->run(uint32_t(kernel), n, &work);
        }));
}

}  // namespace

PYBIND11_MODULE(_gpu_simulator, m, py::mod_gil_not_used()) {
    m.doc() = "Kernels for GPUs, simulated.";
    m.def("open", open, py::arg("budget_bytes"), py::kw_only(), py::arg("runtime") = "cuda", py::arg("warp") = 32,
          py::arg("blocks") = 2, py::arg("seed") = 0,
          "Return a device for crayon_hf._core, in a capsule. It pretends to have `memory` bytes and runs the code of "
          "`runtime`, \"cuda\" or \"hip\", with `warp` lanes per warp and `blocks` blocks at a time.");
}
