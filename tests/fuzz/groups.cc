// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "relay/operator.h"
#include "relay/rewrite.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {
namespace {

using relay::Function;
using relay::NodeId;

// Two of five stay with nobody.
std::string target_of(const std::string& what, std::uint64_t seed) {
  const std::uint64_t choice = derived_seed(seed, what, 0) % 10;
  return choice < 6 ? backend_names()[choice % backend_names().size()] : "";
}

std::string name_of(const Function& f, NodeId id) {
  if (f[id].region != Function::kBody || f.operands(id).empty()) return "";
  if (const relay::Operator* op = f.op(id)) {
    return needs_constants(f, id) ? "" : std::string(op->name);
  }
  if (f.as<relay::Tuple>(id) != nullptr) return "tuple";
  return f.as<relay::Project>(id) != nullptr ? "projection" : "";
}

}  // namespace

bool needs_constants(const Function& f, NodeId id) {
  std::vector<Type> operands;
  for (const NodeId operand : f.operands(id)) operands.push_back(f.type(operand));
  const std::vector<const Tensor*> unknown(operands.size());
  const auto* call = f.as<relay::OpCall>(id);
  const auto type = call->op->infer({operands, unknown, call->attrs, {}, call->op->name});
  return !type || !(*type == f.type(id));
}

const std::vector<std::string>& backend_names() {
  static const std::vector<std::string> names = {"onednn", "blas", "ccompiler", "openvino",
                                                 "example_target_hook"};
  return names;
}

std::vector<NodeId> order_of_groups(const Function& f, const std::vector<int>& of) {
  // A unit is a group, or a node that is in none; a unit's number is that of its first node.
  std::vector<std::size_t> unit(f.num_nodes());
  std::map<int, std::size_t> first;
  std::map<std::size_t, std::vector<NodeId>> members;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (f[NodeId(i)].region != Function::kBody) continue;
    unit[i] = of[i] == Groups::kNone ? i : first.try_emplace(of[i], i).first->second;
    members[unit[i]].push_back(NodeId(i));
  }
  std::map<std::size_t, std::size_t> missing;
  std::map<std::size_t, std::vector<std::size_t>> readers;
  for (const auto& [u, nodes] : members) {
    for (const NodeId id : nodes) {
      for (const NodeId operand : f.operands(id)) {
        if (unit[operand.index()] == u) continue;
        ++missing[u];
        readers[unit[operand.index()]].push_back(u);
      }
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (const auto& [u, nodes] : members) {
    if (missing[u] == 0) ready.push(u);
  }
  std::vector<NodeId> order;
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const std::size_t u = ready.top();
    ready.pop();
    order.insert(order.end(), members[u].begin(), members[u].end());
    for (const std::size_t reader : readers[u]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  return done == members.size() ? order : std::vector<NodeId>();
}

Groups random_groups(const Function& f, std::uint64_t seed) {
  Groups groups;
  groups.of.assign(f.num_nodes(), Groups::kNone);
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const std::string what = name_of(f, NodeId(i));
    const std::string target = what.empty() ? "" : target_of(what, seed);
    if (target.empty()) continue;
    groups.of[i] = static_cast<int>(groups.targets.size());
    groups.targets.push_back(target);
    for (const NodeId operand : f.operands(NodeId(i))) {
      const int mine = groups.of[i], other = groups.of[operand.index()];
      if (other == Groups::kNone || other == mine || groups.target(operand) != target) continue;
      std::vector<int> joined = groups.of;
      std::replace(joined.begin(), joined.end(), mine, other);
      if (!order_of_groups(f, joined).empty()) groups.of = std::move(joined);
    }
  }
  return groups;
}

}  // namespace tessera::fuzz
