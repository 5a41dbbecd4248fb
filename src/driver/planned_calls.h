// SPDX-License-Identifier: Apache-2.0
// What --partition collage knows of the calls of the library that was written.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"

namespace tessera::driver {

// Of all calls of one symbol.
struct PlannedCalls {
  std::vector<std::string> nodes;                      // of the model, that they compute
  std::vector<const collage::PlannedRegion*> regions;  // that are parts of them and of no other
  std::optional<double> seconds;  // all together, by the back end that has them
};

// By symbol. The plan that was searched may be another one than was written: a region of it counts
// where the nodes of one symbol's calls have all of it, with the time of the back end that the
// symbol is of. The sum is known where such regions make up all of the nodes.
std::map<std::string, PlannedCalls> planned_calls(const CompileReport& report);

}  // namespace tessera::driver
