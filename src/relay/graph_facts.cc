// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "relay/rewrite.h"

namespace tessera::relay {

std::vector<RegionId> regions_of(const Function& f, NodeId id) {
  if (const auto* literal = f.as<Literal>(id)) return {literal->body};
  if (const auto* branch = f.as<If>(id)) return {branch->then_region, branch->else_region};
  return {};
}

std::vector<bool> live_nodes(const Function& f) {
  std::vector<bool> live(f.num_nodes());
  std::vector<bool> live_region(f.num_regions());
  const auto enter = [&](RegionId id) {
    live_region[id.index()] = true;
    live[f.region(id).result.index()] = true;
    for (NodeId param : f.region(id).params) live[param.index()] = true;
  };
  enter(Function::kBody);
  // Users and owners come after what they use, so one backward sweep sees them first.
  for (std::size_t i = f.num_nodes(); i-- > 0;) {
    const NodeId id(i);
    const bool binding = f.as<Let>(id) != nullptr && live_region[f[id].region.index()];
    if (!live[i] && !binding) continue;
    live[i] = true;
    for (NodeId operand : f.operands(id)) live[operand.index()] = true;
    for (RegionId region : regions_of(f, id)) enter(region);
  }
  return live;
}

Uses::Uses(const Function& f) : first_(f.num_nodes() + 1), result_(f.result()) {
  const auto for_each_use = [&](auto&& use) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId user(i);
      for (NodeId operand : f.operands(user)) use(operand, user);
      for (RegionId region : regions_of(f, user)) use(f.region(region).result, user);
    }
  };
  for_each_use([&](NodeId used, NodeId) { ++first_[used.index() + 1]; });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  users_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for_each_use([&](NodeId used, NodeId user) { users_[next[used.index()]++] = user; });
}

std::vector<std::vector<NodeId>> captures(const Function& f) {
  std::vector<std::vector<NodeId>> out(f.num_nodes());
  const auto note = [&](RegionId from, NodeId used) {
    const RegionId home = f[used].region;
    for (RegionId r = from; r && r != home; r = f.region(r).parent) {
      if (const NodeId owner = f.region(r).owner) out[owner.index()].push_back(used);
    }
  };
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    for (NodeId operand : f.operands(NodeId(i))) note(f[NodeId(i)].region, operand);
    for (RegionId region : regions_of(f, NodeId(i))) note(region, f.region(region).result);
  }
  for (std::vector<NodeId>& list : out) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return out;
}

bool is_within(const Function& f, RegionId inner, RegionId outer) {
  while (inner && inner != outer) inner = f.region(inner).parent;
  return inner == outer;
}

std::vector<NodeId> nodes_within(const Function& f, RegionId region) {
  // The nodes of a region are consecutive; others may lie between them and the owner. The body of
  // the function has no owner: it is all there is.
  const NodeId owner = f.region(region).owner;
  std::vector<NodeId> out;
  for (std::size_t i = owner ? owner.index() : f.num_nodes(); i-- > 0;) {
    if (is_within(f, f[NodeId(i)].region, region)) {
      out.push_back(NodeId(i));
    } else if (!out.empty()) {
      break;
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace tessera::relay
