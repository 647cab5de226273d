// How many threads can run at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace crayon {

// The cores that this process may use: by its affinity, and by the quota of its control group, rounded up. At least 1.
size_t usable_cores();

// The cores that the quotas of a process's control groups leave it (cpu.max, or cpu.cfs_quota_us in version 1), in
// cores and parts of them; nothing where there is no limit. `root` is in place of "/".
std::optional<double> core_quota(const std::string& root);

}  // namespace crayon
