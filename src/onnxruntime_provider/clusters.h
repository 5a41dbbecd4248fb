// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph go together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::onnxruntime_provider {

// A node by the names of what it reads and makes; a name may be "" for what is left out.
struct NodeValues {
  std::vector<std::string> inputs, outputs;
};

// Groups of the nodes that are wanted, by their indices; `nodes` are in topological order. No path
// leads from a group to a node outside of it and back, so that each can run at once.
std::vector<std::vector<std::size_t>> clusters(const std::vector<NodeValues>& nodes,
                                               const std::vector<bool>& is_wanted);

}  // namespace tessera::onnxruntime_provider
