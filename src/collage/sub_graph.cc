// SPDX-License-Identifier: Apache-2.0
#include "collage/sub_graph.h"

#include <algorithm>
#include <utility>

#include "collage/labels.h"
#include "support/check.h"

namespace tessera::collage {
namespace {

constexpr std::string_view kComposite = "Composite";

bool reads_from_outside(const DataflowGraph& graph, const IndexSet& inside, Index index) {
  const auto& inputs = graph[index].inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](Index input) {
    return !graph.facts(input).is_inlinable && !inside.contains(input);
  });
}

bool is_read_outside(const DataflowGraph& graph, const IndexSet& inside, Index index) {
  const auto& outputs = graph[index].outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](Index output) { return !inside.contains(output); });
}

bool is_read_inside(const DataflowGraph& graph, const IndexSet& inside, Index index) {
  const auto& outputs = graph[index].outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](Index output) { return inside.contains(output); });
}

std::vector<Index> sorted(std::vector<Index> indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

// Members come after what they read, so one sweep finds the longest way to each.
std::size_t longest_way(const DataflowGraph& graph, const IndexSet& inside, const IndexSet& entry,
                        const IndexSet& exit) {
  const auto members = inside.members();
  std::vector<std::size_t> length(members.size(), 0);  // 0: no entry leads here
  std::size_t longest = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (entry.contains(members[i])) length[i] = 1;
    for (const Index input : graph[members[i]].inputs) {
      const auto at = std::lower_bound(members.begin(), members.end(), input);
      if (at == members.end() || *at != input) continue;
      const std::size_t before = length[static_cast<std::size_t>(at - members.begin())];
      if (before > 0) length[i] = std::max(length[i], before + 1);
    }
    if (exit.contains(members[i])) longest = std::max(longest, length[i]);
  }
  return longest;
}

DataflowGraph::NodeSet node_set(const IndexSet& set) {
  return {[&set](Index index) { return set.contains(index); }, set.empty() ? 0 : set.last_inside()};
}

std::vector<NestedSubGraph> in_order(std::vector<NestedSubGraph> nested) {
  std::stable_sort(nested.begin(), nested.end(),
                   [](const auto& a, const auto& b) { return a.sub_graph < b.sub_graph; });
  return nested;
}

}  // namespace

SubGraph::SubGraph(const DataflowGraph& graph, Data data) {
  const IndexSet& inside = data.inside;
  TESSERA_CHECK(!inside.empty(), "a sub-graph without nodes");
  std::vector<Index> entry, exit, output;
  for (const Index index : inside) {
    if (reads_from_outside(graph, inside, index)) entry.push_back(index);
    if (graph.is_external(index) || is_read_outside(graph, inside, index)) exit.push_back(index);
    for (const Index user : graph[index].outputs) {
      if (!inside.contains(user)) output.push_back(user);
    }
  }
  data.entry = IndexSet(graph.size(), std::move(entry));
  data.exit = IndexSet(graph.size(), std::move(exit));
  data.output = IndexSet(graph.size(), sorted(std::move(output)));
  data.depth = longest_way(graph, inside, data.entry, data.exit);
  data.nested = in_order(std::move(data.nested));
  data_ = std::make_shared<const Data>(std::move(data));
}

SubGraph::SubGraph(const DataflowGraph& graph, IndexSet inside)
    : SubGraph(graph, std::move(inside), {}) {}

SubGraph::SubGraph(const DataflowGraph& graph, IndexSet inside, std::vector<NestedSubGraph> nested)
    : SubGraph(graph, [&] {
        Data data;
        for (const Index index : inside) {
          data.kind = std::max(data.kind, graph.facts(index).kind);
          data.label = joined_labels(std::move(data.label), graph.facts(index).label);
        }
        data.inside = std::move(inside);
        data.nested = std::move(nested);
        return data;
      }()) {}

IndexSet SubGraph::input(const DataflowGraph& graph) const {
  std::vector<Index> out;
  for (const Index index : entry()) {
    for (const Index input : graph[index].inputs) {
      if (!graph.facts(input).is_inlinable && !inside().contains(input)) out.push_back(input);
    }
  }
  return IndexSet(graph.size(), sorted(std::move(out)));
}

bool SubGraph::is_valid(const DataflowGraph& graph, const SubGraphLimits& limits) const {
  if (limits.max_exits > 0 && exit().count() > limits.max_exits) return false;
  if (limits.max_depth > 0 && depth() > limits.max_depth) return false;
  const Index block = graph[first()].basic_block;
  for (const Index index : inside()) {
    if (graph[index].basic_block != block) return false;
  }
  IndexSet taken(graph.size());
  for (const NestedSubGraph& n : nested()) {
    const IndexSet& part = n.sub_graph.inside();
    if (part.intersects(taken) || !part.is_subset_of(inside())) return false;
    taken = taken | part;
  }
  const auto is_tap = [&](Index index) { return is_read_inside(graph, inside(), index); };
  if (!limits.allow_taps && std::any_of(exit().begin(), exit().end(), is_tap)) return false;
  return !graph.reaches(output().members(), node_set(entry()), {[](Index) { return false; }, 0});
}

SubGraph SubGraph::join(const DataflowGraph& graph, std::span<const SubGraph> parts) {
  Data data;
  std::vector<Index> inside;
  // Those that become one stand at the place of the first.
  std::vector<std::pair<relay::Attrs, std::vector<SubGraph>>> nested;
  for (const SubGraph& part : parts) {
    inside.insert(inside.end(), part.inside().begin(), part.inside().end());
    data.kind = std::max(data.kind, part.kind());
    data.label = joined_labels(std::move(data.label), part.label());
    for (const NestedSubGraph& n : part.nested()) {
      const bool merges = n.attrs.find(kComposite) == nullptr;
      const auto same = std::find_if(merges ? nested.begin() : nested.end(), nested.end(),
                                     [&](const auto& known) { return known.first == n.attrs; });
      if (same == nested.end()) {
        nested.push_back({n.attrs, {n.sub_graph}});
      } else {
        same->second.push_back(n.sub_graph);
      }
    }
  }
  data.inside = IndexSet(graph.size(), std::move(inside));
  for (auto& [attrs, same] : nested) {
    data.nested.push_back({same.size() == 1 ? same[0] : join(graph, same), std::move(attrs)});
  }
  return SubGraph(graph, std::move(data));
}

SubGraph SubGraph::with_attrs(relay::Attrs attrs) const {
  Data data = *data_;
  data.nested = {{*this, std::move(attrs)}};
  SubGraph out = *this;
  out.data_ = std::make_shared<const Data>(std::move(data));
  return out;
}

bool operator==(const SubGraph& a, const SubGraph& b) {
  return a.inside() == b.inside() &&
         std::equal(a.nested().begin(), a.nested().end(), b.nested().begin(), b.nested().end(),
                    [](const auto& x, const auto& y) { return x.sub_graph == y.sub_graph; });
}

bool operator<(const SubGraph& a, const SubGraph& b) {
  return a.first() != b.first() ? a.first() < b.first() : a.inside() < b.inside();
}

bool are_touching(const DataflowGraph& graph, const SubGraph& upstream,
                  const SubGraph& downstream) {
  if (!upstream.output().intersects(downstream.entry())) return false;
  if (upstream.inside().intersects(downstream.inside())) return false;
  const auto flows = [&](const SubGraph& from, const SubGraph& to) {
    return graph.reaches((from.output() - to.inside()).members(), node_set(to.inside()),
                         node_set(from.inside()));
  };
  return !flows(upstream, downstream) && !flows(downstream, upstream);
}

}  // namespace tessera::collage
