// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/indexed_graph.h"

#include <algorithm>
#include <map>
#include <string>

#include "relay/constant_mentions.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::relay {

// Walks the function depth first with a stack of its own.
class GraphIndexer {
 public:
  GraphIndexer(const Function& f, IndexedGraph& graph)
      : f_(f), graph_(graph), lets_(f.num_regions()), entered_(f.num_nodes()) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (f.as<Let>(NodeId(i)) != nullptr) lets_[f[NodeId(i)].region.index()].push_back(NodeId(i));
    }
  }

  void run() {
    push_region(Function::kBody);
    while (!stack_.empty()) {
      const Task task = stack_.back();
      stack_.pop_back();
      step(task);
    }
    IndexedNode& function = add(IndexedKind::kFunction, {}, nullptr);
    function.basic_block = IndexedGraph::kNone;
    const auto self = static_cast<std::uint32_t>(graph_.size() - 1);
    connect(body_index(Function::kBody), self);
    resolve_blocks(self);
  }

 private:
  enum class What : std::uint8_t { kEnter, kOperator, kLeave, kEndLet };
  struct Task {
    What what;
    NodeId id;
  };

  void push(What what, NodeId id) { stack_.push_back({what, id}); }

  // Parameters, then for each `let` its value and variable, the result, then the lets' expressions
  // from the innermost outwards. The stack is filled backwards.
  void push_region(RegionId id) {
    const Region& region = f_.region(id);
    const auto& lets = lets_[id.index()];
    for (NodeId let : lets) push(What::kEndLet, let);
    push(What::kEnter, region.result);
    for (std::size_t i = lets.size(); i-- > 0;) push(What::kEnter, lets[i]);
    for (std::size_t i = region.params.size(); i-- > 0;) push(What::kEnter, region.params[i]);
  }

  void step(const Task& task) {
    switch (task.what) {
      case What::kEnter:
        enter(task.id);
        break;
      case What::kOperator:
        add_operator(task.id);
        break;
      case What::kLeave:
        leave(task.id);
        break;
      case What::kEndLet:
        end_let(task.id);
        break;
    }
  }

  void enter(NodeId id) {
    if (entered_[id.index()]) return;
    entered_[id.index()] = true;
    push(What::kLeave, id);
    const auto regions = regions_of(f_, id);
    for (std::size_t i = regions.size(); i-- > 0;) push_region(regions[i]);
    const auto operands = f_.operands(id);
    for (std::size_t i = operands.size(); i-- > 0;) push(What::kEnter, operands[i]);
    if (f_.op(id) != nullptr) push(What::kOperator, id);
  }

  void add_operator(NodeId call) {
    const Operator* op = f_.op(call);
    if (!operators_.emplace(op->name, graph_.size()).second) return;
    add(IndexedKind::kOperator, {}, op);
    block_region_.back() = f_[call].region;
  }

  void leave(NodeId id) {
    const auto self = static_cast<std::uint32_t>(graph_.size());
    if (const auto* global = f_.as<GlobalRef>(id)) {
      const auto [it, fresh] = globals_.emplace(global->name, self);
      graph_.index_of_[id.index()] = it->second;
      if (!fresh) return;
    }
    if (const auto* constant = f_.as<Constant>(id)) {
      const std::uint32_t first = constants_.first(*constant, self);
      graph_.index_of_[id.index()] = first;
      if (first != self) return;
    }
    add(IndexedKind::kNode, id, nullptr);
    block_region_.back() = f_[id].region;
    graph_.index_of_[id.index()] = self;
    if (const Operator* op = f_.op(id)) connect(operators_.at(op->name), self);
    for (NodeId operand : f_.operands(id)) connect(graph_.index_of(operand), self);
    for (RegionId region : regions_of(f_, id)) connect(body_index(region), self);
  }

  void end_let(NodeId id) {
    const auto self = static_cast<std::uint32_t>(graph_.size());
    add(IndexedKind::kLet, id, nullptr);
    block_region_.back() = f_[id].region;
    const auto& lets = lets_[f_[id].region.index()];
    const bool last = lets.back() == id;
    // Expressions of the lets end from the innermost outwards, one after the other.
    connect(last ? graph_.index_of(f_.region(f_[id].region).result) : self - 1, self);
    let_index_[id.index()] = self;
  }

  // What a region evaluates to: its first let's expression, or its result.
  std::uint32_t body_index(RegionId id) const {
    const auto& lets = lets_[id.index()];
    return lets.empty() ? graph_.index_of(f_.region(id).result) : let_index_.at(lets[0].index());
  }

  IndexedNode& add(IndexedKind kind, NodeId node, const Operator* op) {
    IndexedNode& n = graph_.nodes_.emplace_back();
    n.kind = kind;
    n.node = node;
    n.op = op;
    n.dominator = IndexedGraph::kNone;
    block_region_.emplace_back();
    return n;
  }

  void connect(std::uint32_t input, std::uint32_t output) {
    graph_.nodes_[output].inputs.push_back(input);
    graph_.nodes_[input].outputs.push_back(output);
  }

  void resolve_blocks(std::uint32_t function) {
    for (std::size_t i = 0; i + 1 < graph_.size(); ++i) {
      const NodeId owner = f_.region(block_region_[i]).owner;
      graph_.nodes_[i].basic_block = owner ? graph_.index_of(owner) : function;
    }
  }

  const Function& f_;
  IndexedGraph& graph_;
  std::vector<std::vector<NodeId>> lets_;  // by region
  std::vector<bool> entered_;
  std::vector<RegionId> block_region_;  // by index
  std::vector<Task> stack_;
  std::map<std::string_view, std::uint32_t> operators_, globals_;
  std::map<std::uint32_t, std::uint32_t> let_index_;
  ConstantMentions constants_;
};

IndexedGraph::IndexedGraph(const Function& f) : f_(f), index_of_(f.num_nodes(), kNone) {
  GraphIndexer(f, *this).run();
  find_dominators();
}

// Users come after what they use, so dominators are known before those whose parents they are. Each
// node also knows an ancestor further up, at distances that double, so that ways up the tree take
// logarithmic time however deep it is.
void IndexedGraph::find_dominators() {
  far_.resize(nodes_.size());
  for (std::uint32_t i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0;) {
    IndexedNode& n = nodes_[i];
    far_[i] = i;
    if (n.outputs.empty()) continue;
    std::uint32_t parent = n.outputs[0];
    for (std::uint32_t output : n.outputs) parent = common_dominator(parent, output);
    n.dominator = parent;
    if (parent == kNone) continue;
    n.depth = nodes_[parent].depth + 1;
    const std::uint32_t far = far_[parent];
    const bool doubles =
        nodes_[parent].depth - nodes_[far].depth == nodes_[far].depth - nodes_[far_[far]].depth;
    far_[i] = doubles ? far_[far] : parent;
  }
}

// The ancestor of a node at a depth that is not below its own.
std::uint32_t IndexedGraph::ancestor(std::uint32_t node, std::uint32_t depth) const {
  while (nodes_[node].depth > depth) {
    node = nodes_[far_[node]].depth >= depth ? far_[node] : nodes_[node].dominator;
  }
  return node;
}

std::uint32_t IndexedGraph::common_dominator(std::uint32_t a, std::uint32_t b) const {
  if (a == kNone || b == kNone) return kNone;
  const std::uint32_t depth = std::min(nodes_[a].depth, nodes_[b].depth);
  a = ancestor(a, depth);
  b = ancestor(b, depth);
  while (a != b) {
    if (nodes_[a].depth == 0) return kNone;  // two trees
    const bool apart = far_[a] != far_[b];
    a = apart ? far_[a] : nodes_[a].dominator;
    b = apart ? far_[b] : nodes_[b].dominator;
  }
  return a;
}

bool IndexedGraph::dominates(std::uint32_t a, std::uint32_t b) const {
  return a != b && nodes_[b].depth > nodes_[a].depth && ancestor(b, nodes_[a].depth) == a;
}

}  // namespace tessera::relay
