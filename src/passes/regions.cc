// SPDX-License-Identifier: Apache-2.0
#include "passes/regions.h"

#include "relay/function_attributes.h"

namespace tessera::passes {

std::vector<relay::RegionId> closed_bodies(const relay::Function& f) {
  std::vector<relay::RegionId> bodies(f.num_regions());
  // A region is made after the one around it.
  for (std::size_t i = 1; i < f.num_regions(); ++i) {
    const relay::Region& region = f.region(relay::RegionId(i));
    bodies[i] = bodies[region.parent.index()];
    const auto* literal = region.owner ? f.as<relay::Literal>(region.owner) : nullptr;
    if (!bodies[i] && literal != nullptr && relay::is_closed(literal->attrs)) {
      bodies[i] = relay::RegionId(i);
    }
  }
  return bodies;
}

}  // namespace tessera::passes
