// SPDX-License-Identifier: Apache-2.0
// The JSON graph of a region, which the run-time part makes cuDNN's graph of.
#pragma once

#include "backends/cudnn/compiler/region.h"
#include "byoc/json_graph_writer.h"

namespace tessera::backends::cudnn {

// What the compiler knows of the way in which cuDNN will run it.
struct StoredPlan {
  std::size_t version = 0;  // of the cuDNN that made it
  std::string text;
  std::int64_t workspace_bytes = 0;
  std::string configuration = {};  // as records have it
  bool is_fallback = false;        // of an engine that is there when no other is
};

// `order`: which operand each parameter of the function is. Tensors are named by the operands'
// numbers, so that a plan is one of all orders.
std::string graph_text(const Region& region, const std::vector<std::size_t>& order,
                       const StoredPlan* plan = nullptr);
// With parameters in the order of the operands: equal text, equal work.
std::string graph_text(const Region& region);

}  // namespace tessera::backends::cudnn
