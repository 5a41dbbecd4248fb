// SPDX-License-Identifier: Apache-2.0
#include "relay/rewrite.h"

namespace tessera::relay {

Copier::Copier(const Function& from, FunctionBuilder& into, bool dense)
    : from_(from), into_(into), dense_(dense ? from.num_nodes() : 0) {}

NodeId Copier::map(NodeId old) const {
  if (!dense_.empty()) return dense_[old.index()];
  const auto it = sparse_.find(old.index());
  return it != sparse_.end() ? it->second : NodeId();
}

void Copier::set(NodeId old, NodeId fresh) {
  if (!dense_.empty()) {
    dense_[old.index()] = fresh;
  } else {
    sparse_[old.index()] = fresh;
  }
}

NodeId Copier::require(NodeId old) const {
  const NodeId fresh = map(old);
  TESSERA_CHECK(fresh, "node {} is used and was not copied", old.index());
  return fresh;
}

std::vector<NodeId> Copier::operands(NodeId old) const {
  std::vector<NodeId> out;
  out.reserve(from_[old].num_operands);
  for (NodeId operand : from_.operands(old)) out.push_back(require(operand));
  return out;
}

NodeId Copier::copy(NodeId old) { return copy(old, operands(old)); }

NodeId Copier::copy(NodeId old, std::span<const NodeId> operands) {
  const Node& node = from_[old];
  NodeId fresh;
  into_.at(node.location);
  if (const auto* param = from_.as<Param>(old)) {
    fresh = into_.param(param->name, param->annotation);
  } else if (const auto* literal = from_.as<Literal>(old)) {
    fresh = into_.literal(regions_.at(literal->body.index()), literal->attrs,
                          literal->result_annotation);
  } else if (const auto* branch = from_.as<If>(old)) {
    fresh = into_.if_(operands[0], regions_.at(branch->then_region.index()),
                      regions_.at(branch->else_region.index()));
  } else {
    return into_.copy(from_, old, operands);
  }
  into_.set_type(fresh, node.type);
  return fresh;
}

// Closes the open regions that do not hold `region`.
void Copier::close_to(RegionId region) {
  while (open_.size() > 1 && !is_within(from_, region, open_.back())) {
    const RegionId closing = open_.back();
    into_.end_region(close_ ? close_(*this, closing) : require(from_.region(closing).result));
    open_.pop_back();
  }
}

// Opens the regions between the innermost open one and `region`, which it holds.
void Copier::open(RegionId region) {
  std::vector<RegionId> path;
  for (RegionId r = region; r != open_.back(); r = home(from_.region(r).parent)) {
    path.push_back(r);
    TESSERA_CHECK(from_.region(r).parent, "node lies outside the region that is copied");
  }
  for (; !path.empty(); path.pop_back()) {
    regions_[path.back().index()] = into_.begin_region();
    open_.push_back(path.back());
  }
}

// Regions without nodes have been passed unseen.
void Copier::open_regions_of(NodeId owner) {
  for (RegionId region : regions_of(from_, owner)) {
    if (regions_.contains(region.index()) || is_dissolved(region)) continue;
    open(region);
    close_to(home(from_[owner].region));
  }
}

// The region in which the nodes of `region` are made: itself, or the one that it is dissolved in.
RegionId Copier::home(RegionId region) {
  if (!dissolve_ || region == open_.front()) return region;
  const auto known = homes_.find(region.index());
  if (known != homes_.end()) return known->second;
  const Region& r = from_.region(region);
  const bool is_branch = r.owner && from_.as<If>(r.owner) != nullptr;
  const RegionId result = is_branch && dissolve_(*this, region) ? home(r.parent) : region;
  homes_.emplace(region.index(), result);
  return result;
}

void Copier::run(RegionId outer, std::span<const NodeId> nodes, const Callback& replace,
                 const Dissolve& dissolve, const Close& close) {
  dissolve_ = dissolve;
  close_ = close;
  open_.assign(1, outer);
  for (NodeId id : nodes) {
    if (map(id)) continue;
    const RegionId region = home(from_[id].region);
    if (region != open_.back()) {
      close_to(region);
      open(region);
    }
    open_regions_of(id);
    std::optional<NodeId> fresh;
    into_.at(from_[id].location);
    if (replace) fresh = replace(*this, id);
    set(id, fresh ? *fresh : copy(id));
  }
  close_to(outer);
}

}  // namespace tessera::relay
