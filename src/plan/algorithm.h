// SPDX-License-Identifier: Apache-2.0
// Algorithms that place needs in pools. One file `<name>.cc` defines `const Algorithm <name>`, one
// line in algorithms.def lists it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/problem.h"

namespace tessera::plan {

struct Algorithm {
  std::string_view name;
  std::string_view summary;  // one sentence, for --help and docs
  // A place for each need but those of the heap. Needs of a pool that is too small are an error.
  Result<std::vector<Placement>> (*place)(const Problem& problem);
};

// In the order of algorithms.def.
std::span<const Algorithm* const> algorithms();
std::string algorithm_names();  // with commas
// "": the first. An error names those that there are.
Result<const Algorithm*> find_algorithm(std::string_view name);

}  // namespace tessera::plan
