// SPDX-License-Identifier: Apache-2.0
// Which operator calls become one kernel: fusion along post-dominators by pattern kind
// (relay-spec 9.4, contract `fuse-ops`; the algorithm of Relay's FuseOps).
#pragma once

#include <algorithm>
#include <vector>

#include "relay/function.h"

namespace tessera::passes {

struct FusionGroup {
  std::vector<relay::NodeId> nodes;  // operator calls, tuples and projections; ascending
  relay::NodeId last() const { return nodes.back(); }
  bool contains(relay::NodeId id) const {
    return std::binary_search(nodes.begin(), nodes.end(), id);
  }
};

// Every live operator call outside of primitive, compiler and composite literals is in exactly one
// group.
class FusionGroups {
 public:
  FusionGroups(std::vector<FusionGroup> groups, std::size_t num_nodes);
  // The group whose value is the node's, or null.
  const FusionGroup* ending_at(relay::NodeId id) const;
  const std::vector<FusionGroup>& all() const { return groups_; }

 private:
  std::vector<FusionGroup> groups_;
  std::vector<std::int32_t> by_last_;  // by node index; -1: none
};

constexpr int kFusedCalls = 256;  // of one kernel at most, where nobody says otherwise

// At most `max_depth` operator calls in a group. With `norms` a normalisation of rows takes what is
// computed element by element before it, as other reductions do.
FusionGroups find_fusion_groups(const relay::Function& f, int max_depth, bool norms);

}  // namespace tessera::passes
