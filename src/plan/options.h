// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/pool.h"

namespace tessera::plan {

// How the memory of a program is planned.
struct PlanOptions {
  std::vector<Pool> pools = {};  // in order of preference; none: one without a limit
  std::string algorithm = {};    // "": the first of algorithms.def
  bool places_ports = false;     // inputs and outputs lie in pools, too
};

}  // namespace tessera::plan
