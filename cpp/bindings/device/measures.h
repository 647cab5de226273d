// The counters of a device, as a Python dict for reports.
#pragma once

#include "bindings/bindings.h"
#include "gpu/measured_device.h"

namespace crayon::python {

// Adds the entries "device" and "kernels" to `out`. "kernels" has an entry for each kernel that was started.
void add_measures(const gpu::Measures& all, py::dict* out);

}  // namespace crayon::python
