#include "crayon/support/cores.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "support/control_groups.h"

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

// The quota in one directory of a control group.
std::optional<double> quota_in(const std::string& directory, bool is_v2) {
    double quota = 0, period = 0;
    if (is_v2) {
        std::ifstream file(directory + "/cpu.max");
        file >> quota >> period;  // "max" is not a number
        if (!file) return std::nullopt;
    } else {
        std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;  // -1 means none
        std::ifstream(directory + "/cpu.cfs_period_us") >> period;
    }
    if (!(quota > 0 && period > 0)) return std::nullopt;
    return quota / period;
}

}  // namespace

std::optional<double> core_quota(const std::string& root) {
    std::optional<double> least;
    for (const ControlGroup& group : control_groups(root, "cpu")) {
        const auto quota = quota_in(group.directory, group.is_v2);
        if (quota && (!least || *quota < *least)) least = quota;
    }
    return least;
}

size_t usable_cores() {
    const size_t cores = cores_of_affinity();
#if defined(__linux__)
    // The first calls read a few files, possibly in several threads; later calls read none.
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
