#include "crayon/support/cores.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace crayon {
namespace {

size_t cores_of_affinity() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return size_t(std::max(1, CPU_COUNT(&set)));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

bool has_part(const std::string& list, const std::string& part) {
    std::istringstream parts(list);
    for (std::string each; std::getline(parts, each, ',');)
        if (each == part) return true;
    return false;
}

// What a directory of a control group says itself.
std::optional<double> quota_in(const std::string& directory, bool is_v2) {
    double quota = 0, period = 0;
    if (is_v2) {
        std::ifstream file(directory + "/cpu.max");
        file >> quota >> period;  // "max" is no number
        if (!file) return std::nullopt;
    } else {
        std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;  // -1 is none
        std::ifstream(directory + "/cpu.cfs_period_us") >> period;
    }
    if (!(quota > 0 && period > 0)) return std::nullopt;
    return quota / period;
}

struct Mount {
    std::string root, point;  // which directory of the hierarchy is mounted where
    bool is_v2;
};

// Where the hierarchies with the controller cpu are. A line is: id, parent, device, root, point, options, other fields,
// "-", type, source, options of the file system.
std::vector<Mount> mounts_of(const std::string& path) {
    std::vector<Mount> mounts;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string skipped, root, point, field, type, source, options;
        fields >> skipped >> skipped >> skipped >> root >> point;
        while (fields >> field && field != "-") {
        }
        fields >> type >> source >> options;
        if (type == "cgroup2" || (type == "cgroup" && has_part(options, "cpu")))
            mounts.push_back({root, point, type == "cgroup2"});
    }
    return mounts;
}

}  // namespace

std::optional<double> core_quota(const std::string& root) {
    std::optional<double> least;
    const std::vector<Mount> mounts = mounts_of(root + "/proc/self/mountinfo");
    std::ifstream groups(root + "/proc/self/cgroup");
    // A line is: number of the hierarchy, its controllers, the group; version 2 has neither number nor controllers.
    for (std::string line; std::getline(groups, line);) {
        const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool is_v2 = controllers.empty();
        if (!is_v2 && !has_part(controllers, "cpu")) continue;
        for (const Mount& mount : mounts) {
            if (mount.is_v2 != is_v2) continue;
            std::string group = line.substr(second + 1);
            if (mount.root != "/") {
                // A container sees a part of the hierarchy; what its own group is called outside counts for nothing.
                const bool is_inside = group.compare(0, mount.root.size(), mount.root) == 0;
                group = is_inside ? group.substr(mount.root.size()) : "";
            }
            // The limits of all groups above count, too.
            while (true) {
                if (!group.empty() && group.back() == '/') group.pop_back();
                const auto quota = quota_in(root + mount.point + group, is_v2);
                if (quota && (!least || *quota < *least)) least = quota;
                if (group.empty()) break;
                group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
            }
        }
    }
    return least;
}

size_t usable_cores() {
    const size_t cores = cores_of_affinity();
#if defined(__linux__)
    // Read once: a handful of files. More than one thread may do so.
    static std::atomic<size_t> limit{0};  // 0: not known yet
    size_t most = limit.load(std::memory_order_relaxed);
    if (most == 0) {
        const std::optional<double> quota = core_quota("");
        most = quota ? size_t(std::max(1.0, std::ceil(std::min(*quota, 1e6)))) : SIZE_MAX;
        limit.store(most, std::memory_order_relaxed);
    }
    return std::min(cores, most);
#else
    return cores;
#endif
}

}  // namespace crayon
