// The only file that receives the version and the digest of the sources from the build. A new version recompiles only
// this file.
#include "version.h"

namespace crayon::python {

const char* const kPackageVersion = CRAYON_VERSION;
const char* const kBuildId = CRAYON_BUILD_ID;

}  // namespace crayon::python
