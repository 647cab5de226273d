// The only file that the build gives the version and the digest of the sources: another version compiles this one
// again, and nothing else.
#include "version.h"

namespace crayon::python {

const char* const kPackageVersion = CRAYON_VERSION;
const char* const kBuildId = CRAYON_BUILD_ID;

}  // namespace crayon::python
