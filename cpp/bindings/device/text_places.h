// Copies texts to memory where users may have theirs: a device's memory or pinned host memory. For measurements and
// tests.
#pragma once

#include "bindings/bindings.h"

namespace crayon::python {

void bind_text_places(py::module_* testing);

}  // namespace crayon::python
