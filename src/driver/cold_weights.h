// SPDX-License-Identifier: Apache-2.0
// Weights where a run of a whole model finds them. Of a model whose weights are more than caches
// keep, each is read from memory once a run, while what operators hand on, and their code, is warm
// from the moment before. So a part that is timed alone runs again and again, without a pause that
// lets others fill the caches, and only its weights are taken out of them between two runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/program_timing.h"

namespace tessera::driver {

class ColdWeights {
 public:
  ColdWeights() = default;  // none
  // Of a program that is loaded: an entry of a file, for a CPU. None where they are more than its
  // caches hold, undisturbed: then each run leaves its first ones in memory. What a vendor's
  // library copied for itself is not known.
  static ColdWeights of(const LibraryProgram& program);

  void evict() const;
  std::uint64_t bytes() const;

 private:
  std::vector<std::span<const std::byte>> weights_;
};

// The same on a device, whose caches cannot be emptied beside a run: computations in a row take
// turns in copies of the weights. How many, so that they are more than a cache of `cache_bytes`
// holds; 1 where the weights are so many that a computation leaves its first ones in memory, or so
// few that no number of copies would help.
int copies_beyond(std::uint64_t cache_bytes, std::uint64_t weight_bytes);
// Computations in a row, `least` at least, so that the next run begins with the copy that was read
// longest ago.
int runs_over_all(int copies, int least);
// Of all weights of an entry of a file, which is loaded for it; 0 of what is none.
std::uint64_t weight_bytes(const LibraryProgram& program);

}  // namespace tessera::driver
