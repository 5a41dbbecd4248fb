// SPDX-License-Identifier: Apache-2.0
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "relay/structural_equal.h"
#include "support/hash.h"

namespace tessera::relay {

namespace {

// One sweep in topological order: a node's hash is made of its payload's and its operands'.
// Parameters and lets count by their position, as names do not.
class Hasher {
 public:
  Hasher(const Function& f, const ConstantPool* pool)
      : f_(f), pool_(pool), hashes_(f.num_nodes()), lets_(f.num_regions()), live_(live_nodes(f)) {}

  std::uint64_t run() {
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id(i);
      if (!live_[i]) continue;
      std::uint64_t h = hash_combine(static_cast<std::uint64_t>(f_[id].kind()), payload(id));
      for (NodeId operand : f_.operands(id)) h = hash_combine(h, hashes_[operand.index()]);
      for (RegionId region : regions_of(f_, id)) h = hash_combine(h, region_hash(region));
      hashes_[i] = h;
      if (f_.as<Let>(id) != nullptr) {
        auto& lets = lets_[f_[id].region.index()];
        lets = hash_combine(lets + 1, h);
      }
    }
    std::uint64_t h = hash_combine(f_.attrs.hash(), f_.result_annotation.hash());
    return hash_combine(h, region_hash(Function::kBody));
  }

 private:
  std::uint64_t region_hash(RegionId id) const {
    const Region& region = f_.region(id);
    std::uint64_t h = hash_combine(region.params.size(), lets_[id.index()]);
    for (NodeId param : region.params) h = hash_combine(h, f_.as<Param>(param)->annotation.hash());
    return hash_combine(h, hashes_[region.result.index()]);
  }

  std::uint64_t param_position(NodeId id) const {
    std::uint64_t depth = 0, index = 0;
    const Region& home = f_.region(f_[id].region);
    for (RegionId r = home.parent; r; r = f_.region(r).parent) ++depth;
    while (home.params[index] != id) ++index;
    return hash_combine(depth, index);
  }

  std::uint64_t payload(NodeId id) const {
    switch (f_[id].kind()) {
      case NodeKind::kParam:
        return param_position(id);
      case NodeKind::kConstant: {
        const ConstantValue& value = f_.as<Constant>(id)->value;
        if (const auto* tensor = std::get_if<Tensor>(&value)) return tensor->hash();
        TESSERA_CHECK(pool_ != nullptr, "a constant's pool is not known");
        return pool_->resolve(value).hash();
      }
      case NodeKind::kOpCall:
        return hash_combine(hash_text(f_.op(id)->name).low, f_.as<OpCall>(id)->attrs.hash());
      case NodeKind::kValueCall:
        return f_.as<ValueCall>(id)->attrs.hash();
      case NodeKind::kProject:
        return static_cast<std::uint64_t>(f_.as<Project>(id)->index);
      case NodeKind::kLiteral:
        return hash_combine(f_.as<Literal>(id)->attrs.hash(),
                            f_.as<Literal>(id)->result_annotation.hash());
      case NodeKind::kLet:
        return f_.as<Let>(id)->annotation.hash();
      case NodeKind::kGlobalRef:
        return hash_text(f_.as<GlobalRef>(id)->name).low;
      case NodeKind::kTuple:
      case NodeKind::kIf:
        break;
    }
    return 0;
  }

  const Function& f_;
  const ConstantPool* pool_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint64_t> lets_;  // of the lets of each region, in order
  std::vector<bool> live_;
};

}  // namespace

std::uint64_t structural_hash(const Function& f, const ConstantPool* pool) {
  return Hasher(f, pool).run();
}

}  // namespace tessera::relay
