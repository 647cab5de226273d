#include "measures.h"

namespace crayon::python {
namespace {

py::dict dict_of(const gpu::Measures::Sum& sum) {
    py::dict out;
    out["calls"] = sum.calls;
    out["bytes"] = sum.bytes;
    return out;
}

}  // namespace

void add_measures(const gpu::Measures& all, py::dict* out) {
    py::dict device, kernels;
    device["allocated"] = dict_of(all.allocated);
    device["allocated_pinned"] = dict_of(all.allocated_pinned);
    device["released"] = all.released;
    device["released_pinned"] = all.released_pinned;
    device["held"] = all.held;
    device["most_held"] = all.most_held;
    device["to_device"] = dict_of(all.to_device);
    device["to_host"] = dict_of(all.to_host);
    device["copied"] = dict_of(all.copied);
    device["zeroed"] = dict_of(all.zeroed);
    device["waits"] = all.waits;
    device["wait_seconds"] = double(all.wait_nanoseconds) * 1e-9;
    for (uint32_t i = 0; i < gpu::kKernels; ++i) {
        const gpu::Measures::OfKernel& own = all.kernels[i];
        if (own.launches == 0) continue;
        py::dict kernel;
        kernel["launches"] = own.launches;
        kernel["blocks"] = own.blocks;
        kernel["seconds"] = double(own.nanoseconds) * 1e-9;
        kernels[gpu::kernel_name(gpu::Kernel(i))] = kernel;
    }
    (*out)["device"] = device;
    (*out)["kernels"] = kernels;
}

}  // namespace crayon::python
