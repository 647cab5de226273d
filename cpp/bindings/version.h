#pragma once

namespace crayon::python {

extern const char* const kPackageVersion;
extern const char* const kBuildId;

}  // namespace crayon::python
