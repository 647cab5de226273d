// Text in places where users may have it: a device's memory and pinned host memory. For measurements and tests.
#pragma once

#include "bindings/bindings.h"

namespace crayon::python {

void bind_text_places(py::module_* testing);

}  // namespace crayon::python
