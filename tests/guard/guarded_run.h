// SPDX-License-Identifier: Apache-2.0
// Runs of a library whose every tensor, and every piece of memory that it asks for, is guarded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/guard/guarded_memory.h"

namespace tessera::guard {

struct RunOptions {
  std::uint64_t seed = 0;
  int rounds = 12;  // for each of the places
  int threads = 2;
  std::vector<Place> places = {Place::kEnd, Place::kBegin};
};

struct Outcome {
  int right = 0, refused = 0;  // runs
  std::string last_refusal;
  std::vector<std::string> faults;  // what a run did that it must not, and did not die of
};
// Throws std::runtime_error where the library cannot be loaded.
Outcome run_guarded(const std::string& library, const RunOptions& options);

}  // namespace tessera::guard
