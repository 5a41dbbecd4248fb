// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

// Nodes seen so far by what they compute. A node of an inner region may use one of an enclosing
// region, never the other way round.
class CommonNodes {
 public:
  CommonNodes(const relay::Function& f, const ConstantPool& pool) : f_(f), pool_(pool) {}

  relay::Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  std::optional<NodeId> visit(Copier& c, NodeId id) {
    if (!is_shareable(id)) return std::nullopt;
    const std::vector<NodeId> operands = c.operands(id);
    const std::uint64_t key = hash(id, operands);
    for (auto [it, end] = seen_.equal_range(key); it != end; ++it) {
      const NodeId old = it->second;
      if (!relay::is_within(f_, f_[id].region, f_[old].region)) continue;
      if (same_payload(old, id) && c.operands(old) == operands) return c.map(old);
    }
    seen_.emplace(key, id);
    return std::nullopt;
  }

  bool is_shareable(NodeId id) const {
    switch (f_[id].kind()) {
      case relay::NodeKind::kOpCall:
        return !f_.op(id)->has_effect;
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
    return true;  // a tuple: its operands say all
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  std::unordered_multimap<std::uint64_t, NodeId> seen_;  // looked up only, never walked
};

Result<Module> run(Module module, PassContext&) {
  return map_optimizable(std::move(module), [](const relay::Function& f, const ConstantPool& pool) {
    return CommonNodes(f, pool).run();
  });
}

}  // namespace

extern const Pass eliminate_common_subexpr;
const Pass eliminate_common_subexpr{
    .name = "eliminate-common-subexpr",
    .summary = "makes one node of calls and projections with equal callee, attributes and operands",
    .needs_types = false,
    .run = run,
};

}  // namespace tessera::passes
