// Puts texts where users may have them: in a device's memory or in pinned host memory. For measurements and tests.
#pragma once

#include "bindings/bindings.h"

namespace crayon::python {

void bind_text_places(py::module_* testing);

}  // namespace crayon::python
