// SPDX-License-Identifier: Apache-2.0
// `If` of ONNX.
#include <fmt/format.h>

#include "import/graph_importer.h"

namespace tessera::import {
namespace {

// The dimensions whose sizes are never the same.
Ints different_axes(const Type& a, const Type& b) {
  Ints axes;
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) return axes;
  for (std::size_t d = 0; d < a.rank(); ++d) {
    if (provably_equal(a.shape()[d], b.shape()[d]) == Tri::kNo) {
      axes.push_back(static_cast<std::int64_t>(d));
    }
  }
  return axes;
}

}  // namespace

// Where the branches' results differ in their sizes, the condition decides them.
void GraphImporter::end_branches(NodeId condition, const relay::RegionId (&regions)[2],
                                 std::vector<NodeId> (&results)[2]) {
  std::vector<Ints> open;
  for (std::size_t k = 0; k < results[0].size(); ++k) {
    open.push_back(different_axes(builder_.type(results[0][k]), builder_.type(results[1][k])));
  }
  for (int i = 0; i < 2; ++i) {
    builder_.reopen_branch(regions[i]);
    for (std::size_t k = 0; k < open.size(); ++k) {
      NodeId& r = results[i][k];
      if (!open[k].empty()) r = call("dyn.any_size", {r, condition}, {{"axes", open[k]}});
    }
    builder_.end_branch(results[i].size() == 1 ? results[i][0] : builder_.tuple(results[i]));
  }
}

std::vector<NodeId> GraphImporter::import_if(const onnx::NodeProto& node) {
  Node at(builder_, *scope_, model_, node, location_of(node));
  const onnx::GraphProto* graphs[] = {&at.graph_attr("then_branch"), &at.graph_attr("else_branch")};
  const NodeId condition = at.scalar_of(at.input(0), kBool, "its condition");
  at.check_all_was_read();
  Scope body = scope_->inner(std::get<ModelNode>(at.location()->place).node);
  body.outer = scope_;
  if (const auto known = at.constant(condition)) {
    Sequences sequences;
    std::vector<NodeId> taken =
        import_graph(*graphs[element_as_int(*known, 0) != 0 ? 0 : 1], body, &sequences);
    define_sequences(node, sequences);
    return taken;
  }
  relay::RegionId regions[2];
  std::vector<NodeId> results[2];
  bool complete = true;
  for (int i = 0; i < 2; ++i) {
    Scope branch = body;
    regions[i] = builder_.begin_branch();
    results[i] = import_graph(*graphs[i], branch);
    complete &= !results[i].empty() && results[i].size() == at.num_outputs() &&
                graphs[i]->output_size() == node.output_size();
    builder_.at(at.location());
    builder_.end_branch(results[i].empty() ? builder_.tuple({}) : results[i][0]);
  }
  // What a branch lacks after an error has been reported.
  if (!complete && errors_.empty()) {
    at.invalid(Code::kBadOnnxGraph,
               fmt::format("it has {} outputs, its branches {} and {}", node.output_size(),
                           graphs[0]->output_size(), graphs[1]->output_size()));
  }
  if (!complete) return {};
  end_branches(condition, regions, results);
  const NodeId value = builder_.branch(condition, regions[0], regions[1]);
  if (at.num_outputs() == 1) return {value};
  std::vector<NodeId> outputs;
  for (int i = 0; i < node.output_size(); ++i) outputs.push_back(builder_.project(value, i));
  return outputs;
}

}  // namespace tessera::import
