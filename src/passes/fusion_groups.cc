// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion_groups.h"

#include <map>
#include <numeric>
#include <utility>

#include "passes/regions.h"
#include "passes/row_norms.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "relay/shape_needs.h"

namespace tessera::passes {
namespace {

using relay::NodeId;
using relay::OpPattern;

constexpr std::size_t kNone = ~std::size_t{0};

// A result whose size depends on data has a shape function, which reads operands: these cannot be
// computed by the same kernel. Inference may know the size by what a list is computed of, such as
// `shape_of`; inside of a kernel, whose parameter such a list becomes, it does not.
bool size_depends_on_data(const relay::Function& f, NodeId id) {
  const relay::Operator& op = *f.op(id);
  if (op.shape == nullptr) return false;
  if (relay::has_unknown_size(f.type(id))) return true;
  const auto operands = f.operands(id);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (relay::shape_need_of(op, k) == relay::ShapeNeed::kData &&
        !relay::has_no_inputs(f, operands[k])) {
      return true;
    }
  }
  return false;
}

OpPattern pattern_of(const relay::Function& f, NodeId id, bool norms) {
  switch (f[id].kind()) {
    case relay::NodeKind::kOpCall:
      if (size_depends_on_data(f, id)) return OpPattern::kOpaque;
      if (norms && is_row_norm(*f.op(id))) return OpPattern::kCommReduce;
      return f.op(id)->pattern;
    case relay::NodeKind::kTuple:
      return OpPattern::kTuple;
    case relay::NodeKind::kProject:
      return OpPattern::kInjective;
    default:
      return OpPattern::kOpaque;
  }
}

bool at_most(OpPattern a, OpPattern b) { return static_cast<int>(a) <= static_cast<int>(b); }

// Post-dominator tree over one region's nodes: by node, the next node that every path to the
// region's result passes through.
class PostDominators {
 public:
  explicit PostDominators(const relay::Function& f, const std::vector<bool>& live)
      : f_(f),
        parent_(f.num_nodes(), kNone),
        jump_(f.num_nodes(), kNone),
        depth_(f.num_nodes(), 0) {
    const relay::Uses uses(f);
    for (std::size_t i = f.num_nodes(); i-- > 0;) {
      if (live[i]) link(NodeId(i), uses, live);
    }
  }

  std::size_t parent(std::size_t i) const { return parent_[i]; }

 private:
  void link(NodeId id, const relay::Uses& uses, const std::vector<bool>& live) {
    const std::size_t i = id.index();
    if (f_.region(f_[id].region).result == id) return;  // a root: its value leaves the region
    std::size_t parent = kNone;
    bool first = true;
    for (const NodeId user : uses.of(id)) {
      if (!live[user.index()]) continue;
      // Uses from an inner region cannot be fused with: the node is a root, too.
      if (f_[user].region != f_[id].region) return;
      parent = first ? user.index() : common(parent, user.index());
      first = false;
      if (parent == kNone) return;
    }
    if (first) return;
    parent_[i] = parent;
    depth_[i] = depth_[parent] + 1;
    const std::size_t near = jump_[parent], far = near == kNone ? kNone : jump_[near];
    const bool doubles =
        far != kNone && depth_[parent] - depth_[near] == depth_[near] - depth_[far];
    jump_[i] = doubles ? far : parent;
  }

  std::size_t common(std::size_t a, std::size_t b) const {
    if (a == kNone || b == kNone) return kNone;
    if (depth_[a] < depth_[b]) std::swap(a, b);
    while (depth_[a] > depth_[b]) {
      a = jump_[a] != kNone && depth_[jump_[a]] >= depth_[b] ? jump_[a] : parent_[a];
    }
    while (a != b && a != kNone) {  // at equal depths the jumps are equally long
      const bool together = jump_[a] == jump_[b];
      a = together ? parent_[a] : jump_[a];
      b = together ? parent_[b] : jump_[b];
    }
    return a;
  }

  const relay::Function& f_;
  std::vector<std::size_t> parent_, jump_, depth_;
};

class Fuser {
 public:
  Fuser(const relay::Function& f, int max_depth, bool norms)
      : f_(f),
        max_depth_(max_depth),
        norms_(norms),
        live_(relay::live_nodes(f)),
        uses_(f),
        dominators_(f, live_),
        group_(f.num_nodes()),
        calls_(f.num_nodes(), 0),
        pattern_(f.num_nodes()),
        fusable_(f.num_nodes()),
        node_seen_(f.num_nodes()),
        group_seen_(f.num_nodes()),
        closed_(closed_bodies(f)) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      pattern_[i] = pattern_of(f, id, norms);
      calls_[i] = f.op(id) != nullptr ? 1 : weight_of_tuple(id);
      fusable_[i] = live_[i] && pattern_[i] != OpPattern::kOpaque && !in_closed_literal(id);
    }
  }

  // Phase 0: what may follow heavy operators; 1: injective chains; 2: injective into tuples.
  FusionGroups run() {
    for (int phase = 0; phase < 3; ++phase) {
      for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
        if (fusable_[i]) try_fuse(i, phase);
      }
    }
    return collect();
  }

 private:
  bool in_closed_literal(NodeId id) const {
    return static_cast<bool>(closed_[f_[id].region.index()]);
  }

  std::size_t root(std::size_t i) {
    while (group_[i] != i) i = group_[i] = group_[group_[i]];
    return i;
  }

  void try_fuse(std::size_t i, int phase) {
    const std::size_t sink = dominators_.parent(i);
    if (sink == kNone || !fusable_[sink] || root(i) == root(sink)) return;
    const OpPattern mine = pattern_[root(i)];
    const OpPattern sink_kind =
        pattern_of(f_, NodeId(sink), norms_);  // its own, whatever joined it already
    const bool into_tuple = sink_kind == OpPattern::kTuple;
    if (phase == 2) {
      // Only into a tuple that has joined what uses it: a tuple is no kernel.
      const bool joined = into_tuple && at_most(pattern_[root(sink)], OpPattern::kInjective);
      if (joined && at_most(mine, OpPattern::kInjective)) {
        fuse_when(i, sink, [](OpPattern p, bool) { return at_most(p, OpPattern::kInjective); });
      }
      return;
    }
    if (into_tuple) return;
    if (mine == OpPattern::kOutFusable) {
      if (phase == 0 && at_most(sink_kind, OpPattern::kBroadcast)) {
        fuse_when(i, sink, [](OpPattern p, bool) { return at_most(p, OpPattern::kBroadcast); });
      }
    } else if (at_most(mine, OpPattern::kBroadcast)) {
      if (at_most(sink_kind, OpPattern::kCommReduce)) {
        fuse_when(i, sink, [](OpPattern p, bool is_sink) {
          return at_most(p, is_sink ? OpPattern::kOutFusable : OpPattern::kInjective);
        });
      }
    } else if (phase == 1 && (mine == OpPattern::kInjective || mine == OpPattern::kTuple)) {
      fuse_when(i, sink, [](OpPattern p, bool) { return at_most(p, OpPattern::kInjective); });
    }
  }

  // A kernel has a parameter for each field: where these are many, two such tuples are not in one.
  int weight_of_tuple(NodeId id) const {
    constexpr int kFewFields = 32;
    if (f_.as<relay::Tuple>(id) == nullptr) return 0;
    const int fields = static_cast<int>(f_.operands(id).size());
    return fields <= kFewFields ? 0 : std::min(fields, max_depth_ / 2);
  }

  using Allows = bool (*)(OpPattern, bool is_sink);

  // Fuses everything on the paths from `source` to `sink`, if `allows` every node on them.
  void fuse_when(std::size_t source, std::size_t sink, Allows allows) {
    std::vector<std::size_t> roots = {root(source)};
    if (!collect_paths(source, sink, allows, roots)) return;
    const std::size_t into = root(sink);
    // The sink's kind is that of the group, whatever it takes in on the way, but for the product
    // that a group has at most.
    OpPattern combined = pattern_[into];
    int calls = 0;
    for (const std::size_t r : roots) {
      if (pattern_[r] == OpPattern::kOutFusable) combined = OpPattern::kOutFusable;
      calls += calls_[r];
      group_[r] = into;
    }
    group_[into] = into;
    pattern_[into] = combined;
    calls_[into] = calls;
  }

  // Adds the groups on the paths to `roots`. Ends as soon as one of them is not allowed or they
  // have too many calls together, so that its time is bounded by `max_depth`.
  bool collect_paths(std::size_t source, std::size_t sink, Allows allows,
                     std::vector<std::size_t>& roots) {
    std::vector<std::size_t> open = {source};
    const std::uint32_t now = ++searches_;
    group_seen_[roots[0]] = now;
    int calls = calls_[roots[0]];
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const NodeId user : uses_.of(NodeId(at))) {
        const std::size_t u = user.index(), r = root(u);
        if (!live_[u] || node_seen_[u] == now) continue;
        node_seen_[u] = now;
        if (!fusable_[u] || !allows(pattern_[r], u == sink)) return false;
        if (std::exchange(group_seen_[r], now) != now) {
          roots.push_back(r);
          calls += calls_[r];
        }
        if (calls > max_depth_) return false;
        if (u != sink) open.push_back(u);
      }
    }
    return true;
  }

  FusionGroups collect() {
    std::map<std::size_t, FusionGroup> by_root;
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      if (fusable_[i] ||
          (live_[i] && f_.op(NodeId(i)) != nullptr && !in_closed_literal(NodeId(i)))) {
        by_root[root(i)].nodes.push_back(NodeId(i));
      }
    }
    std::vector<FusionGroup> groups;
    for (auto& [r, group] : by_root) {
      const bool computes = std::any_of(group.nodes.begin(), group.nodes.end(),
                                        [&](NodeId id) { return f_.op(id) != nullptr; });
      if (computes) groups.push_back(std::move(group));
    }
    return FusionGroups(std::move(groups), f_.num_nodes());
  }

  const relay::Function& f_;
  int max_depth_;
  bool norms_;
  std::vector<bool> live_;
  relay::Uses uses_;
  PostDominators dominators_;
  std::vector<std::size_t> group_;  // union-find
  std::vector<int> calls_;          // operator calls of a group, at its root
  std::vector<OpPattern> pattern_;  // of a group, at its root
  std::vector<bool> fusable_;
  std::vector<std::uint32_t> node_seen_, group_seen_;  // the last search that met them
  std::uint32_t searches_ = 0;
  const std::vector<relay::RegionId> closed_;  // by region
};

}  // namespace

FusionGroups::FusionGroups(std::vector<FusionGroup> groups, std::size_t num_nodes)
    : groups_(std::move(groups)), by_last_(num_nodes, -1) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    by_last_[groups_[i].last().index()] = static_cast<std::int32_t>(i);
  }
}

const FusionGroup* FusionGroups::ending_at(relay::NodeId id) const {
  const std::int32_t i = by_last_[id.index()];
  return i < 0 ? nullptr : &groups_[static_cast<std::size_t>(i)];
}

FusionGroups find_fusion_groups(const relay::Function& f, int max_depth, bool norms) {
  return Fuser(f, max_depth, norms).run();
}

}  // namespace tessera::passes
