// SPDX-License-Identifier: Apache-2.0
#include "collage/signature.h"

#include <algorithm>

#include <fmt/format.h>

#include "relay/patterns/matcher.h"
#include "relay/print_value.h"

namespace tessera::collage {
namespace {

std::string attrs_text(const relay::Attrs& attrs) {
  std::string out;
  for (const auto& [name, value] : attrs) {
    out += fmt::format(" {}={}:{}", name, relay::attr_text(value), value.width);
  }
  return out;
}

// Nodes of one text compute the same of the same operands; others than calls of operators, tuples
// and projections are only equal to themselves.
std::string node_text(const DataflowGraph& graph, Index index) {
  const relay::Function& f = graph.function();
  const relay::IndexedNode& node = graph[index];
  if (node.kind != relay::IndexedKind::kNode) return fmt::format("index {}", index);
  const std::string type = to_string(f.type(node.node));
  if (const auto* call = f.as<relay::OpCall>(node.node)) {
    return fmt::format("call {}{} {}", call->op->name, attrs_text(call->attrs), type);
  }
  if (f.as<relay::Tuple>(node.node) != nullptr) return "tuple " + type;
  if (const auto* project = f.as<relay::Project>(node.node)) {
    return fmt::format("projection {} {}", project->index, type);
  }
  return fmt::format("index {}", index);
}

}  // namespace

Signatures::Signatures(const DataflowGraph& graph) : graph_(graph) {
  node_.reserve(graph.size());
  for (Index i = 0; i < graph.size(); ++i) node_.push_back(code_of(node_text(graph, i)));
}

std::uint32_t Signatures::code_of(const std::string& text) {
  return codes_.emplace(text, static_cast<std::uint32_t>(codes_.size())).first->second;
}

std::vector<std::uint32_t> Signatures::of(const Candidate& candidate) {
  const SubGraph& whole = candidate.sub_graph;
  std::vector<std::uint32_t> out = {static_cast<std::uint32_t>(candidate.spec->priority),
                                    code_of("label " + whole.label())};
  // Each operand: a member, an input in order of appearance with its type, or a leaf.
  std::vector<Index> inputs;
  const auto members = whole.inside().members();
  for (const Index index : members) {
    out.push_back(node_[index]);
    out.push_back(whole.exit().contains(index) ? 1 : 0);
    out.push_back(static_cast<std::uint32_t>(graph_[index].inputs.size()));
    for (const Index input : graph_[index].inputs) {
      const auto member = std::lower_bound(members.begin(), members.end(), input);
      if (member != members.end() && *member == input) {
        out.insert(out.end(), {0, static_cast<std::uint32_t>(member - members.begin())});
      } else if (graph_.facts(input).is_inlinable) {
        out.insert(out.end(), {1, node_[input]});
      } else {
        const auto known = std::find(inputs.begin(), inputs.end(), input);
        out.insert(out.end(), {2, static_cast<std::uint32_t>(known - inputs.begin())});
        if (known != inputs.end()) continue;
        inputs.push_back(input);
        const Type type = relay::expr_facts::type(graph_.indexed(), input, &graph_.pool());
        out.push_back(code_of("type " + to_string(type)));
      }
    }
  }
  for (const NestedSubGraph& nested : whole.nested()) {
    out.push_back(code_of("function" + attrs_text(nested.attrs)));
    add_part(nested.sub_graph, whole, out);
  }
  return out;
}

// Which of the members are in the nested sub-graph, and how that is nested itself.
void Signatures::add_part(const SubGraph& part, const SubGraph& whole,
                          std::vector<std::uint32_t>& out) {
  const auto members = whole.inside().members();
  out.push_back(static_cast<std::uint32_t>(part.inside().count()));
  for (const Index index : part.inside()) {
    const auto at = std::lower_bound(members.begin(), members.end(), index);
    out.push_back(static_cast<std::uint32_t>(at - members.begin()));
  }
  out.push_back(static_cast<std::uint32_t>(part.nested().size()));
  for (const NestedSubGraph& nested : part.nested()) {
    out.push_back(code_of("function" + attrs_text(nested.attrs)));
    add_part(nested.sub_graph, whole, out);
  }
}

}  // namespace tessera::collage
