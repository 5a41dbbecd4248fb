// SPDX-License-Identifier: Apache-2.0
#include "collage/call_sub_graph.h"

#include "relay/rewrite.h"

namespace tessera::collage {

std::vector<relay::NodeId> call_sub_graph(relay::FunctionBuilder& builder,
                                          const DataflowGraph& graph,
                                          const SubGraphFunction& function,
                                          std::span<const relay::NodeId> arguments) {
  const relay::NodeId literal = relay::embed(builder, function.function);
  builder.at(function.function.location);
  const relay::NodeId call = builder.call_value(literal, arguments);
  builder.set_type(call, function.function.result_annotation);
  if (function.outputs.size() == 1) return {call};
  std::vector<relay::NodeId> values;
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    values.push_back(builder.project(call, static_cast<int>(i)));
    const relay::NodeId value = graph[function.outputs[i]].node;
    builder.set_type(values.back(), graph.function().type(value));
  }
  return values;
}

}  // namespace tessera::collage
