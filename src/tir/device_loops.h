// SPDX-License-Identifier: Apache-2.0
// How launches of the loop IR are laid out on a device: what schedules count on and emitters do.
#pragma once

#include <cstdint>

#include "tir/stmt.h"

namespace tessera::tir {

inline constexpr int kGridThreads = 256;     // of a block in a launch of kind grid
inline constexpr int kWarpThreads = 32;      // of a team in one of kind warps
inline constexpr int kWarpsOfBlock = 4;      // that lie in one block there
inline constexpr int kMaxTeamThreads = 256;  // of a team in one of kind blocks

// The threads of a block that runs this body of a launch of kind blocks: as many as its widest loop
// over threads, in whole warps, up to kMaxTeamThreads.
int block_threads(const Stmt& body);
// How often each thread goes round a loop over `extent` threads.
constexpr std::int64_t thread_trips(std::int64_t extent, int team) {
  return (extent + team - 1) / team;
}

}  // namespace tessera::tir
