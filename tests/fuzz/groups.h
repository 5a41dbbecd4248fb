// SPDX-License-Identifier: Apache-2.0
// Which nodes of a function which back end shall run, chosen at random, and whether that is legal:
// an opinion of its own, which shares nothing with byoc/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/function.h"

namespace tessera::fuzz {

struct Groups {
  static constexpr int kNone = -1;
  std::vector<int> of;               // by node: its group, or kNone
  std::vector<std::string> targets;  // by group

  const std::string& target(relay::NodeId id) const {
    return targets[static_cast<std::size_t>(of[id.index()])];
  }
};

// The back ends of a processor that this command has.
const std::vector<std::string>& backend_names();

// Does the size of an operator's result depend on constants? As parameters of a region they are
// none any more, and the reference needs to know sizes.
bool needs_constants(const relay::Function& f, relay::NodeId call);

// Operators, tuples and projections of the body; neighbours of one target are joined as long as no
// group needs what it computes. A node's target depends on its operator and the seed alone, so that
// less of a graph still has the same targets.
Groups random_groups(const relay::Function& f, std::uint64_t seed);

// Nodes of the body in an order in which a group's nodes stand together, after all that the group
// reads; empty if a group needs, by way of others, what it computes.
std::vector<relay::NodeId> order_of_groups(const relay::Function& f, const std::vector<int>& of);

}  // namespace tessera::fuzz
