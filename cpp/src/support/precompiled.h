// What most files of the engine include of the standard library: parsed once (tools/native_build.py). A file names what
// it uses all the same: some compilers read none of this.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
