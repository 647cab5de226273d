// The standard headers that most files of the engine include, parsed once (tools/native_build.py). Each file still
// includes the headers it uses, because some compilers do not read this one.
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
