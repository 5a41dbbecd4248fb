// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "constants/pool.h"
#include "relay/operator.h"
#include "relay/patterns/indexed_graph.h"

namespace tessera::collage {

struct NodeFacts {
  relay::OpPattern kind = relay::OpPattern::kOpaque;
  bool is_inlinable = false;
  std::string label;  // of calls the operator's name
};

// How a node fuses and what it is called (relay-spec 9.4). Inlinable leaves are copied to wherever
// they are read: operators, functions, simple scalars, and constants that say a shape.
NodeFacts facts_of(const relay::IndexedGraph& graph, std::uint32_t index, const ConstantPool& pool);

}  // namespace tessera::collage
