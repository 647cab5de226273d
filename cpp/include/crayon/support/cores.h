// How many threads can run at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace crayon {

// The cores that this process may use: its affinity, limited by its control group's quota (rounded up). At least 1.
size_t usable_cores();

// Returns the limit that a process's control groups set (cpu.max, or cpu.cfs_quota_us in version 1), as a fraction of
// cores. Returns nothing without a limit. `root` replaces "/".
std::optional<double> core_quota(const std::string& root);

}  // namespace crayon
