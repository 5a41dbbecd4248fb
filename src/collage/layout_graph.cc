// SPDX-License-Identifier: Apache-2.0
#include "collage/layout_graph.h"

#include <algorithm>

#include "ops/inference/infer_types.h"

namespace tessera::collage {

using passes::ConvertedValue;
using relay::IndexedKind;
using relay::NodeId;

Result<LayoutGraph> LayoutGraph::make(const Module& module, const DataflowGraph& plain,
                                      const std::vector<std::string>& desired) {
  TESSERA_TRY(const passes::DesiredLayouts layouts, passes::parse_desired_layouts(desired));
  passes::ConvertedFunction converted = passes::converted_layouts(
      plain.function(), module.constants, [&](NodeId) { return &layouts; });
  LayoutGraph out;
  out.values_ = std::move(converted.values);
  Module alone;
  alone.constants = module.constants;
  alone.symbols = module.symbols;
  alone.targets = module.targets;
  alone.functions.emplace("main", std::move(converted.function));
  TESSERA_TRY(alone, ops::infer_types(std::move(alone)));
  out.module_ = std::make_unique<const Module>(std::move(alone));
  const relay::Function& f = out.module_->functions.at("main");
  out.graph_ = std::make_unique<const DataflowGraph>(f, out.module_->constants);
  out.old_of_.resize(f.num_nodes());
  out.axes_.resize(plain.size());
  for (std::size_t i = 0; i < out.values_.size(); ++i) {
    const ConvertedValue& value = out.values_[i];
    // What a view stands for is computed by the operator before it.
    if (value.computed && !out.old_of_[value.computed.index()]) {
      out.old_of_[value.computed.index()] = NodeId(i);
    }
    const Index index = plain.indexed().index_of(NodeId(i));
    if (index != relay::IndexedGraph::kNone) out.axes_[index] = value.axes;
  }
  return out;
}

bool LayoutGraph::changes_anything() const {
  return std::any_of(values_.begin(), values_.end(),
                     [](const ConvertedValue& v) { return v.is_computed_permuted; });
}

const passes::Permutation* LayoutGraph::axes_of(Index value) const {
  return axes_[value].empty() ? nullptr : &axes_[value];
}

const ConvertedValue* LayoutGraph::value_at(const DataflowGraph& plain, Index index) const {
  if (plain[index].kind != IndexedKind::kNode) return nullptr;
  return &values_[plain[index].node.index()];
}

// Those that the new nodes read in the order of their layouts. Constants are part of a program.
std::vector<Index> LayoutGraph::permuted_inputs(const DataflowGraph& plain,
                                                const SubGraph& of_plain,
                                                const SubGraph& made) const {
  const IndexSet read = made.input(*graph_);
  std::vector<Index> out;
  for (const Index index : of_plain.input(plain)) {
    const ConvertedValue* value = value_at(plain, index);
    if (value == nullptr) continue;
    if (plain.function().as<relay::Constant>(plain[index].node) != nullptr) continue;
    const bool is_read = std::any_of(value->permuted.begin(), value->permuted.end(), [&](NodeId n) {
      const Index at = n ? graph_->indexed().index_of(n) : relay::IndexedGraph::kNone;
      return at != relay::IndexedGraph::kNone && read.contains(at);
    });
    if (is_read) out.push_back(index);
  }
  return out;
}

std::optional<LaidOut> LayoutGraph::on_plain(const DataflowGraph& plain, const SubGraph& made,
                                             Conversions conversions) const {
  std::vector<Index> computed, kept;
  for (const Index index : made.inside()) {
    const NodeId node = (*graph_)[index].node;
    const NodeId old = node ? old_of_[node.index()] : NodeId();
    const Index at = old ? plain.indexed().index_of(old) : relay::IndexedGraph::kNone;
    const bool is_constant = node && graph_->function().as<relay::Constant>(node) != nullptr;
    if (at != relay::IndexedGraph::kNone) {
      computed.push_back(at);
    } else if (!is_constant) {
      if (conversions == Conversions::kStay) return std::nullopt;
      continue;
    }
    kept.push_back(index);
  }
  if (computed.empty()) return std::nullopt;
  LaidOut out{SubGraph(plain, IndexSet(plain.size(), std::move(computed))),
              SubGraph(*graph_, IndexSet(graph_->size(), std::move(kept))),
              {},
              {}};
  if (!out.plain.is_valid(plain, {}) || !out.made.is_valid(*graph_, {})) return std::nullopt;
  out.inputs = permuted_inputs(plain, out.plain, out.made);
  for (const Index index : out.plain.exit()) {
    const ConvertedValue* value = value_at(plain, index);
    if (value != nullptr && value->is_computed_permuted) out.outputs.push_back(index);
  }
  // Inside a value may be in another order, too: then an operator that changes it has changed.
  const bool is_changed =
      std::any_of(out.plain.inside().begin(), out.plain.inside().end(), [&](Index index) {
        const ConvertedValue* value = value_at(plain, index);
        return value != nullptr && value->is_computed_permuted;
      });
  if (!is_changed && out.inputs.empty()) return std::nullopt;
  return out;
}

std::vector<LayoutGraph::View> LayoutGraph::views(const DataflowGraph& plain) const {
  std::vector<View> out;
  for (Index index = 0; index < plain.size(); ++index) {
    const ConvertedValue* value = value_at(plain, index);
    if (value == nullptr || !value->is_view) continue;
    const NodeId data = plain.function().operands(plain[index].node)[0];
    out.push_back({index, values_[data.index()].is_computed_permuted, !value->permuted.empty()});
  }
  return out;
}

}  // namespace tessera::collage
