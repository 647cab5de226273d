#include "support/control_groups.h"

#include <fstream>
#include <sstream>

namespace crayon {
namespace {

bool has_part(const std::string& list, const std::string& part) {
    std::istringstream parts(list);
    for (std::string each; std::getline(parts, each, ',');)
        if (each == part) return true;
    return false;
}

struct Mount {
    std::string root, point;  // `root` is the directory of the hierarchy that is mounted at `point`
    bool is_v2;
};

// Reads the mounts of all hierarchies that have this controller. A line is: id, parent, device, root, point, options,
// other fields, "-", type, source, options of the file system.
std::vector<Mount> mounts_of(const std::string& path, const std::string& controller) {
    std::vector<Mount> mounts;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string skipped, root, point, field, type, source, options;
        fields >> skipped >> skipped >> skipped >> root >> point;
        while (fields >> field && field != "-") {
        }
        fields >> type >> source >> options;
        if (type == "cgroup2" || (type == "cgroup" && has_part(options, controller)))
            mounts.push_back({root, point, type == "cgroup2"});
    }
    return mounts;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& root, const std::string& controller) {
    std::vector<ControlGroup> found;
    const std::vector<Mount> mounts = mounts_of(root + "/proc/self/mountinfo", controller);
    std::ifstream groups(root + "/proc/self/cgroup");
    // A line is: number of the hierarchy, its controllers, the group. Version 2 has neither number nor controllers.
    for (std::string line; std::getline(groups, line);) {
        const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool is_v2 = controllers.empty();
        if (!is_v2 && !has_part(controllers, controller)) continue;
        for (const Mount& mount : mounts) {
            if (mount.is_v2 != is_v2) continue;
            std::string group = line.substr(second + 1);
            if (mount.root != "/") {
                // A container sees a part of the hierarchy; the outer name of its own group does not matter.
                const bool is_inside = group.compare(0, mount.root.size(), mount.root) == 0;
                group = is_inside ? group.substr(mount.root.size()) : "";
            }
            while (true) {
                if (!group.empty() && group.back() == '/') group.pop_back();
                found.push_back({root + mount.point + group, is_v2});
                if (group.empty()) break;
                group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
            }
        }
    }
    return found;
}

}  // namespace crayon
