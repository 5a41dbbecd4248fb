// SPDX-License-Identifier: Apache-2.0
// How much memory was resident at most.
#pragma once

#include <cstdint>

namespace tessera {

// This program's peak from its start; 0 if the system does not tell. (getrusage would count what
// the process was before it became this program, too: a large parent shows up in its small child.)
std::uint64_t own_peak_bytes();
// That of the largest among this process and the children that it has waited for.
std::uint64_t tree_peak_bytes();

}  // namespace tessera
