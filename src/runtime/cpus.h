// SPDX-License-Identifier: Apache-2.0
// How many CPUs this process may use. A container usually sees all of its host's, and is stopped
// for the rest of each period when its quota is used up: more threads than the quota has CPUs make
// each of them wait for others that are stopped.
#pragma once

#include <cstdint>

namespace tessera::runtime {

// Those of the affinity mask.
std::int32_t cpus_of_affinity();

// The CPUs of the smallest quota of the control groups that the process is in, rounded up, at least
// 1; 0 where there is none. `root` stands before "/proc" and "/sys": "" outside of tests. Both
// versions of control groups are known.
std::int32_t cpus_of_quota(const char* root = "");

}  // namespace tessera::runtime
