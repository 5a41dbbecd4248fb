// SPDX-License-Identifier: Apache-2.0
// Measuring alone: two compilers at work on one machine take turns on it, on each GPU its own.
#pragma once

#include <string>

#include "link/object_cache.h"

namespace tessera::tune {

// Who takes turns, which is a file in the folder of cached objects: all who measure on the CPU, and
// all whom CUDA_VISIBLE_DEVICES shows the same GPU first, by the same name. Where it is not set, or
// begins with 0, they are those of the CPU.
inline constexpr char kCpuTurns[] = "measuring";
std::string gpu_turns();

// Held while something is timed. It waits for whoever else of this user has such a turn on this
// machine, by a lock on the file; a process that ends gives its turn back. Where there is no such
// folder, or no locks, nobody waits. Not to be nested.
class TurnToMeasure {
 public:
  explicit TurnToMeasure(const std::string& turns,
                         const std::string& folder = link::ObjectCache::default_folder());
  ~TurnToMeasure();
  TurnToMeasure(const TurnToMeasure&) = delete;
  TurnToMeasure& operator=(const TurnToMeasure&) = delete;

 private:
  int file_ = -1;
};

}  // namespace tessera::tune
