// SPDX-License-Identifier: Apache-2.0
#include "byoc/annotated_regions.h"

#include "byoc/disjoint_sets.h"

namespace tessera::byoc {

using relay::Function;
using relay::NodeId;

// Regions while they grow: sets of begins, with chains of ins and outs that join in constant time.
class RegionFinder {
 public:
  explicit RegionFinder(const Function& f)
      : f_(f), opened_(f.num_nodes(), kNone), next_(f.num_nodes()) {}

  Result<AnnotatedRegions> run() {
    const auto operands = [&](NodeId id) {
      const auto span = f_.operands(id);
      return std::vector<NodeId>(span.begin(), span.end());
    };
    AnnotatedRegions out;
    out.order_ = post_order(f_, operands).nodes;
    for (const NodeId id : out.order_) visit(id);
    if (!errors_.empty()) return fail(std::move(errors_));
    collect(out);
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = AnnotatedRegions::kNone;

  struct Chain {
    NodeId first, last;
  };
  struct Growing {
    std::uint32_t id = 0;
    std::string target;
    Chain ins, outs;
  };

  void append(Chain& chain, const Chain& more) {
    if (!more.first) return;
    if (chain.last) {
      next_[chain.last.index()] = more.first;
    } else {
      chain.first = more.first;
    }
    chain.last = more.last;
  }
  std::vector<NodeId> list(const Chain& chain) const {
    std::vector<NodeId> out;
    for (NodeId id = chain.first; id; id = next_[id.index()]) out.push_back(id);
    return out;
  }

  // The set of an open or closed region that the node is in.
  std::uint32_t set_of(NodeId id) {
    const std::uint32_t opened = opened_[id.index()];
    return opened == kNone ? kNone : sets_.find(opened);
  }

  void visit(NodeId id) {
    if (is_begin(f_, id)) {
      opened_[id.index()] = sets_.add();
      const auto number = static_cast<std::uint32_t>(growing_.size());
      growing_.push_back({number, compiler_of(f_, id), {id, id}, {}});
    } else if (is_end(f_, id)) {
      close(id);
    } else if (f_.as<relay::ValueCall>(id) != nullptr) {
      join(id, f_.operands(id).subspan(1));
    } else if (f_.as<relay::OpCall>(id) != nullptr || f_.as<relay::Tuple>(id) != nullptr ||
               f_.as<relay::Project>(id) != nullptr) {
      join(id, f_.operands(id));
    }
  }

  void close(NodeId id) {
    const NodeId value = f_.operands(id)[0];
    const std::uint32_t set = set_of(value);
    if (set == kNone || is_end(f_, value)) {
      errors_.add(error(Code::kMalformedGraph, f_[id].location,
                        "cannot find the region that this `compiler_end` closes")
                      .with_remedy("every argument of what it encloses needs a `compiler_begin`"));
      return;
    }
    Growing& region = growing_[set];
    if (region.target != compiler_of(f_, id)) {
      errors_.add(error(Code::kMalformedGraph, f_[id].location,
                        "a region of `{}` is closed by a `compiler_end` of `{}`", region.target,
                        compiler_of(f_, id)));
      return;
    }
    opened_[id.index()] = set;
    append(region.outs, {id, id});
  }

  void join(NodeId id, std::span<const NodeId> arguments) {
    std::uint32_t set = kNone;
    bool outside = false;
    for (const NodeId argument : arguments) {
      if (is_end(f_, argument)) continue;
      const std::uint32_t other = set_of(argument);
      outside = outside || other == kNone;
      if (other == kNone || other == set) continue;
      set = set == kNone ? other : merged(set, other, id);
    }
    if (set == kNone) return;
    if (outside) {
      errors_.add(error(Code::kMalformedGraph, f_[id].location,
                        "argument regions are inconsistent: some arguments are in a region of `{}` "
                        "and some in none",
                        growing_[set].target)
                      .with_remedy("put a `compiler_begin` on every argument, or on none"));
    } else if (f_[growing_[set].ins.first].region != f_[id].region) {
      errors_.add(error(Code::kMalformedGraph, f_[id].location,
                        "a region of `{}` begins in another branch or function than this",
                        growing_[set].target)
                      .with_remedy("put the `compiler_begin` into the same branch or function"));
    }
    opened_[id.index()] = set;
  }

  // `other` goes into `set`, whose id survives.
  std::uint32_t merged(std::uint32_t set, std::uint32_t other, NodeId at) {
    Growing into = std::move(growing_[set]), from = std::move(growing_[other]);
    if (into.target != from.target) {
      errors_.add(error(Code::kMalformedGraph, f_[at].location,
                        "arguments lie in regions of `{}` and of `{}`", into.target, from.target));
    }
    append(into.ins, from.ins);
    append(into.outs, from.outs);
    const std::uint32_t both = sets_.join(set, other);
    growing_[both] = std::move(into);
    return both;
  }

  void collect(AnnotatedRegions& out) {
    std::vector<std::uint32_t> by_id(growing_.size(), kNone);
    for (std::uint32_t set = 0; set < growing_.size(); ++set) {
      if (sets_.find(set) == set) by_id[growing_[set].id] = set;
    }
    std::vector<std::uint32_t> number(growing_.size(), kNone);
    for (const std::uint32_t set : by_id) {
      if (set == kNone) continue;
      Growing& region = growing_[set];
      number[set] = static_cast<std::uint32_t>(out.regions_.size());
      out.regions_.push_back(
          {region.id, std::move(region.target), list(region.ins), list(region.outs), {}});
    }
    out.of_.assign(f_.num_nodes(), kNone);
    for (const NodeId id : out.order_) {
      const std::uint32_t set = set_of(id);
      if (set == kNone) continue;
      out.of_[id.index()] = number[set];
      NodeId& first = out.regions_[number[set]].first_out;
      if (is_end(f_, id) && !first) first = id;
    }
  }

  const Function& f_;
  DisjointSets sets_;
  std::vector<Growing> growing_;       // by the number that stands for a set
  std::vector<std::uint32_t> opened_;  // by node: a member of its set
  std::vector<NodeId> next_;           // by node: after it in a chain of ins or outs
  Diagnostics errors_;
};

Result<AnnotatedRegions> AnnotatedRegions::find(const Function& f) { return RegionFinder(f).run(); }

}  // namespace tessera::byoc
