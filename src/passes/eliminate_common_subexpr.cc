// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_map>

#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

// Nodes seen so far by what they compute. A node of an inner region may use one of an enclosing
// region, never the other way round.
class CommonNodes {
 public:
  CommonNodes(const relay::Function& f, const ConstantPool& pool, bool shares_calls)
      : f_(f), pool_(pool), shares_calls_(shares_calls), closed_(closed_bodies(f)) {}

  relay::Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  std::optional<NodeId> visit(Copier& c, NodeId id) {
    if (!is_comparable(id)) return std::nullopt;
    const std::vector<NodeId> operands = values(c, id);
    const bool is_tuple = f_[id].kind() == relay::NodeKind::kTuple;
    const std::uint64_t key = hash(id, operands);
    for (auto [it, end] = seen_.equal_range(key); it != end; ++it) {
      const NodeId old = it->second;
      if (!is_tuple && !is_visible(old, f_[id].region)) continue;
      if (!same_payload(old, id) || values(c, old) != operands) continue;
      if (!is_tuple) return c.map(old);
      const NodeId copy = c.copy(id);
      equal_tuple_.emplace(copy, value(c.map(old)));
      return copy;
    }
    seen_.emplace(key, id);
    return std::nullopt;
  }

  // Tuples stay, and equal ones count as one operand.
  NodeId value(NodeId made) const {
    const auto it = equal_tuple_.find(made);
    return it != equal_tuple_.end() ? it->second : made;
  }
  std::vector<NodeId> values(Copier& c, NodeId id) const {
    std::vector<NodeId> operands = c.operands(id);
    for (NodeId& operand : operands) operand = value(operand);
    return operands;
  }

  // Can a node of `region` use the node? Not from inside a literal that captures nothing.
  bool is_visible(NodeId node, relay::RegionId region) const {
    const relay::RegionId home = f_[node].region;
    return closed_[home.index()] == closed_[region.index()] && relay::is_within(f_, region, home);
  }

  bool is_comparable(NodeId id) const {
    switch (f_[id].kind()) {
      case relay::NodeKind::kOpCall:
        return !f_.op(id)->has_effect;
      case relay::NodeKind::kValueCall:
        return shares_calls_;
      case relay::NodeKind::kGlobalRef:
      case relay::NodeKind::kConstant:
      case relay::NodeKind::kProject:
      case relay::NodeKind::kTuple:
        return true;
      default:
        return false;
    }
  }

  std::uint64_t hash(NodeId id, const std::vector<NodeId>& operands) const {
    std::uint64_t h = static_cast<std::uint64_t>(f_[id].kind());
    if (const auto* call = f_.as<relay::OpCall>(id)) {
      h = hash_combine(hash_combine(h, reinterpret_cast<std::uintptr_t>(call->op)),
                       call->attrs.hash());
    } else if (const auto* constant = f_.as<relay::Constant>(id)) {
      h = hash_combine(h, pool_.resolve(constant->value).hash());
    } else if (const auto* global = f_.as<relay::GlobalRef>(id)) {
      h = hash_combine(h, hash_text(global->name).low);
    } else if (const auto* project = f_.as<relay::Project>(id)) {
      h = hash_combine(h, static_cast<std::uint64_t>(project->index));
    }
    for (const NodeId o : operands) h = hash_combine(h, o.index());
    return h;
  }

  bool same_payload(NodeId a, NodeId b) const {
    if (f_[a].kind() != f_[b].kind()) return false;
    if (const auto* call = f_.as<relay::OpCall>(a)) {
      const auto* other = f_.as<relay::OpCall>(b);
      return call->op == other->op && call->attrs == other->attrs;
    }
    if (const auto* constant = f_.as<relay::Constant>(a)) {
      return pool_.resolve(constant->value) == pool_.resolve(f_.as<relay::Constant>(b)->value);
    }
    if (const auto* project = f_.as<relay::Project>(a)) {
      return project->index == f_.as<relay::Project>(b)->index;
    }
    if (const auto* global = f_.as<relay::GlobalRef>(a)) {
      return global->name == f_.as<relay::GlobalRef>(b)->name;
    }
    if (const auto* call = f_.as<relay::ValueCall>(a)) {
      return call->attrs == f_.as<relay::ValueCall>(b)->attrs;
    }
    return true;  // a tuple: its operands say all
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  const bool shares_calls_;
  const std::vector<relay::RegionId> closed_;
  std::unordered_multimap<std::uint64_t, NodeId> seen_;  // looked up only, never walked
  std::map<NodeId, NodeId> equal_tuple_;                 // of made nodes: the first equal one
};

// With an operator somewhere that acts each time it runs, calls of functions are not looked into.
bool has_effects(const Module& module) {
  for (const auto& [name, f] : module.functions) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const relay::Operator* op = f.op(NodeId(i));
      if (op != nullptr && op->has_effect) return true;
    }
  }
  return false;
}

Result<Module> run_eliminate_common_subexpr(Module module, PassContext&) {
  const bool shares_calls = !has_effects(module);
  return map_optimizable(std::move(module),
                         [&](const relay::Function& f, const ConstantPool& pool) {
                           return CommonNodes(f, pool, shares_calls).run();
                         });
}

}  // namespace

extern const Pass eliminate_common_subexpr;
const Pass eliminate_common_subexpr{
    .name = "eliminate-common-subexpr",
    .summary = "makes one node of calls and projections with equal callee, attributes and operands",
    .needs_types = false,
    .run = run_eliminate_common_subexpr,
};

}  // namespace tessera::passes
