// SPDX-License-Identifier: Apache-2.0
// Measuring alone: two compilers at work on one machine take turns on it, unless they see GPUs of
// their own.
#pragma once

#include <string>

#include "link/object_cache.h"

namespace tessera::tune {

// Held while something is timed. It waits for whoever else of this user measures on this machine,
// by a lock on a file in the folder of cached objects (measuring_file); a process that ends gives
// its turn back. Where there is no such folder, or no locks, nobody waits. Not to be nested.
class TurnToMeasure {
 public:
  explicit TurnToMeasure(const std::string& folder = link::ObjectCache::default_folder());
  ~TurnToMeasure();
  TurnToMeasure(const TurnToMeasure&) = delete;
  TurnToMeasure& operator=(const TurnToMeasure&) = delete;

 private:
  int file_ = -1;
};

// The name of the file: `measuring`, and for whom CUDA_VISIBLE_DEVICES shows another GPU first than
// that of index 0, `measuring-` and how the variable names it.
std::string measuring_file();

}  // namespace tessera::tune
