// The control groups on Linux that limit this process.
#pragma once

#include <string>
#include <vector>

namespace crayon {

struct ControlGroup {
    std::string directory;
    bool is_v2;  // version 2 has other file names
};

// Returns this process's groups that have the controller ("cpu" or "memory"), and all groups above them. `root`
// replaces "/".
std::vector<ControlGroup> control_groups(const std::string& root, const std::string& controller);

}  // namespace crayon
