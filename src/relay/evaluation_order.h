// SPDX-License-Identifier: Apache-2.0
// The order in which a function's values come to be, whatever the order of its nodes.
#pragma once

#include <vector>

#include "relay/function.h"

namespace tessera::relay {

// The live nodes, each after what it reads: operands in order with the callee last; a region's
// parameters, its `let`s in order, then its result; what is inside a literal or a branch in front
// of its owner. It is the order of the printed text, and does not depend on how the nodes lie.
std::vector<NodeId> evaluation_order(const Function& f);

// What a `let` names, through other `let`s; any other node itself.
NodeId behind_lets(const Function& f, NodeId id);

}  // namespace tessera::relay
