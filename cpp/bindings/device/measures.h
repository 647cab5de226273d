// What a device was asked for, as a report has it.
#pragma once

#include "bindings/bindings.h"
#include "gpu/measured_device.h"

namespace crayon::python {

// Adds "device", and "kernels" with those that were started at all.
void add_measures(const gpu::Measures& all, py::dict* out);

}  // namespace crayon::python
