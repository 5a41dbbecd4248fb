// SPDX-License-Identifier: Apache-2.0
#include "relay/evaluation_order.h"

#include <algorithm>

#include "relay/rewrite.h"

namespace tessera::relay {

namespace {

// Depth first, with a stack of its own.
class Evaluation {
 public:
  explicit Evaluation(const Function& f) : f_(f), seen_(f.num_nodes()), lets_(f.num_regions()) {
    const std::vector<bool> live = live_nodes(f);
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      if (live[i] && f.as<Let>(id) != nullptr) lets_[f[id].region.index()].push_back(id);
    }
  }

  std::vector<NodeId> run() {
    std::vector<NodeId> roots;
    add_region(Function::kBody, roots);
    for (const NodeId root : roots) visit(root);
    return std::move(order_);
  }

 private:
  struct Frame {
    NodeId id;
    std::vector<NodeId> reads;
    std::size_t next = 0;
  };

  void add_region(RegionId region, std::vector<NodeId>& out) const {
    const Region& r = f_.region(region);
    out.insert(out.end(), r.params.begin(), r.params.end());
    const std::vector<NodeId>& lets = lets_[region.index()];
    out.insert(out.end(), lets.begin(), lets.end());
    out.push_back(r.result);
  }

  std::vector<NodeId> reads(NodeId id) const {
    const auto operands = f_.operands(id);
    std::vector<NodeId> out(operands.begin(), operands.end());
    if (f_.as<ValueCall>(id) != nullptr) std::rotate(out.begin(), out.begin() + 1, out.end());
    for (const RegionId region : regions_of(f_, id)) add_region(region, out);
    return out;
  }

  void enter(NodeId id) {
    if (seen_[id.index()]) return;
    seen_[id.index()] = true;
    stack_.push_back({id, reads(id)});
  }

  void visit(NodeId root) {
    enter(root);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next < top.reads.size()) {
        enter(top.reads[top.next++]);
      } else {
        order_.push_back(top.id);
        stack_.pop_back();
      }
    }
  }

  const Function& f_;
  std::vector<bool> seen_;
  std::vector<std::vector<NodeId>> lets_;  // live ones, by region
  std::vector<Frame> stack_;
  std::vector<NodeId> order_;
};

}  // namespace

std::vector<NodeId> evaluation_order(const Function& f) { return Evaluation(f).run(); }

NodeId behind_lets(const Function& f, NodeId id) {
  while (f.as<Let>(id) != nullptr) id = f.operands(id)[0];
  return id;
}

}  // namespace tessera::relay
