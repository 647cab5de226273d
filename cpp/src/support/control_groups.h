// The control groups of this process on Linux, whose limits count for it.
#pragma once

#include <string>
#include <vector>

namespace crayon {

struct ControlGroup {
    std::string directory;
    bool is_v2;  // of version 2: its files have other names
};

// The groups with a controller ("cpu", "memory"), and all groups above them. `root` is in place of "/".
std::vector<ControlGroup> control_groups(const std::string& root, const std::string& controller);

}  // namespace crayon
