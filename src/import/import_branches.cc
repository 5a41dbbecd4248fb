// SPDX-License-Identifier: Apache-2.0
// `If` of ONNX.
#include <fmt/format.h>

#include "import/graph_importer.h"

namespace tessera::import {

std::vector<NodeId> GraphImporter::import_if(const onnx::NodeProto& node) {
  Node at(builder_, *scope_, model_, node, location_of(node));
  const onnx::GraphProto* graphs[] = {&at.graph_attr("then_branch"), &at.graph_attr("else_branch")};
  const NodeId condition = at.scalar_of(at.input(0), kBool, "its condition");
  at.check_all_was_read();
  Scope body = scope_->inner(std::get<ModelNode>(at.location()->place).node);
  body.outer = scope_;
  if (const auto known = at.constant(condition)) {
    return import_graph(*graphs[element_as_int(*known, 0) != 0 ? 0 : 1], body);
  }
  relay::RegionId regions[2];
  bool complete = true;
  for (int i = 0; i < 2; ++i) {
    Scope branch = body;
    regions[i] = builder_.begin_branch();
    const std::vector<NodeId> results = import_graph(*graphs[i], branch);
    complete &= !results.empty() && results.size() == at.num_outputs() &&
                graphs[i]->output_size() == node.output_size();
    builder_.at(at.location());
    builder_.end_branch(results.size() == 1 ? results[0] : builder_.tuple(results));
  }
  // What a branch lacks behind an error has been reported.
  if (!complete && errors_.empty()) {
    at.invalid(Code::kBadOnnxGraph,
               fmt::format("it has {} outputs, its branches {} and {}", node.output_size(),
                           graphs[0]->output_size(), graphs[1]->output_size()));
  }
  if (!complete) return {};
  const NodeId value = builder_.branch(condition, regions[0], regions[1]);
  if (at.num_outputs() == 1) return {value};
  std::vector<NodeId> outputs;
  for (int i = 0; i < node.output_size(); ++i) outputs.push_back(builder_.project(value, i));
  return outputs;
}

}  // namespace tessera::import
