// A CPU device for tests that emulates a GPU, and the tests' controls of it.
#pragma once

#include "bindings/bindings.h"

namespace crayon::python {

void bind_host_device(py::module_ testing);

}  // namespace crayon::python
