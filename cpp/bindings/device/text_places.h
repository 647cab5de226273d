// Text where a user's may lie: in a device's memory, and in pinned memory of the host. For measurements and tests.
#pragma once

#include "bindings/bindings.h"

namespace crayon::python {

void bind_text_places(py::module_* testing);

}  // namespace crayon::python
