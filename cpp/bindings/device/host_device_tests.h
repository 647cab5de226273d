// The device that stands in for a GPU, and what tests make of it.
#pragma once

#include "bindings/bindings.h"

namespace crayon::python {

void bind_host_device(py::module_ testing);

}  // namespace crayon::python
