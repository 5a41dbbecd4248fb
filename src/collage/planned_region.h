// SPDX-License-Identifier: Apache-2.0
// A region of a plan, and what else could compute it: what people are shown.
#pragma once

#include <string>
#include <vector>

#include "diagnostics/location.h"

namespace tessera::collage {

// One way to compute the nodes of a region.
struct PricedWay {
  std::string who;      // a back end, or `native`
  double seconds = 0;   // infinite where it cannot, or cannot be measured by itself
  std::string why_not;  // then
};

struct PlannedRegion {
  PricedWay chosen;
  std::vector<PricedWay> others;       // for the same operators, the fastest first
  std::vector<std::string> operators;  // in order
  std::vector<Location> sources;       // nodes of the model
};

}  // namespace tessera::collage
