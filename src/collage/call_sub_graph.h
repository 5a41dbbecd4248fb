// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "collage/extract.h"

namespace tessera::collage {

// Calls the function as a literal; what stands for each of its outputs.
std::vector<relay::NodeId> call_sub_graph(relay::FunctionBuilder& builder,
                                          const DataflowGraph& graph,
                                          const SubGraphFunction& function,
                                          std::span<const relay::NodeId> arguments);

}  // namespace tessera::collage
