// SPDX-License-Identifier: Apache-2.0
// Trees as operators: a chain of gathers finds each row's leaf in each tree, which fusion makes one
// loop over rows and trees; sums over trees follow.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "import/tree_ensemble.h"

namespace tessera::import {
namespace {

// One number a record: where it leads, whether NaN counts as <=, and its feature.
struct Records {
  Value packed, threshold;
  Ints roots;
  int feature_bits = 0;
  bool has_missing = false;
};

Records records_of(Value x, const TreeTables& tables, std::int64_t features) {
  Node& n = x.node();
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(features - 1)));
  const bool has_missing = std::ranges::find(tables.missing, true) != tables.missing.end();
  const int shift = bits + (has_missing ? 1 : 0);
  const auto count = static_cast<std::int64_t>(tables.next.size());
  Ints packed;
  for (std::size_t i = 0; i < tables.next.size(); ++i) {
    const std::int64_t missing = tables.missing[i] ? std::int64_t{1} << bits : 0;
    packed.push_back(tables.next[i] << shift | missing | tables.feature[i]);
  }
  const bool fits = count <= std::numeric_limits<std::int32_t>::max() >> shift;
  n.make_room(2 * static_cast<double>(count));
  return {{n, n.ints(packed, fits ? kInt32 : kInt64)},
          numbers(n, {count}, tables.threshold, x.dtype()),
          tables.roots,
          bits,
          has_missing};
}

Value shifted_right(Value x, int bits) {
  if (bits == 0) return x;
  return {x.node(), x.node().call("right_shift", {x, x.number(bits)})};
}

Value low_bits(Value x, int bits) {
  const Value mask = x.number(static_cast<double>((std::int64_t{1} << bits) - 1));
  return {x.node(), x.node().call("bitwise_and", {x, mask})};
}

// The records after those at `at`, whose features have the values `x`.
Value step(const Records& records, Value x, Value at, Value packed) {
  const Value threshold = records.threshold.take(at, 0, "fast");
  Value second = x <= threshold;
  Value next = shifted_right(packed, records.feature_bits);
  if (records.has_missing) {
    const Value missing = equal(low_bits(next, 1), 1.0);
    second = second || (missing && x.apply("isnan"));
    next = shifted_right(next, 1);
  }
  return next + second.cast(packed.dtype());
}

// Places of records, (n, trees).
Value leaves_of(Value x, const Records& records, std::int64_t depth) {
  Node& n = x.node();
  const Value roots = Value(n, n.ints(records.roots, records.packed.dtype()));
  // All rows begin with the same features.
  Value packed = records.packed.take(roots, 0, "fast");
  const Value first = x.take(low_bits(packed, records.feature_bits), 1, "fast");
  Value at = step(records, first, roots.expand_dims(0), packed.expand_dims(0));
  for (std::int64_t d = 1; d < depth; ++d) {
    packed = records.packed.take(at, 0, "fast");
    const Value value = {n, n.call("take", {x, low_bits(packed, records.feature_bits)},
                                   {{"axis", 1}, {"batch_dims", 1}, {"mode", "fast"}})};
    at = step(records, value, at, packed);
  }
  return at;
}

// The least or greatest of nothing is known by being infinite.
double identity_of(Aggregate aggregate) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return aggregate == Aggregate::kMin ? kInfinity : aggregate == Aggregate::kMax ? -kInfinity : 0;
}

// What trees give together along the last dimension, which is dropped.
Value aggregated(Value weights, Aggregate aggregate, std::int64_t trees) {
  const Ints last = {weights.rank() - 1};
  if (aggregate == Aggregate::kSum || aggregate == Aggregate::kAverage) {
    const Value sum = weights.sum(last, false);
    return aggregate == Aggregate::kSum ? sum : sum / static_cast<double>(trees);
  }
  const Value found = weights.apply(aggregate == Aggregate::kMin ? "min" : "max",
                                    {{"axis", last}, {"keepdims", false}});
  return where(equal(found, identity_of(aggregate)), found.number(0), found);
}

// The leaves of one tree.
struct TreeLeaves {
  std::size_t count = 0;
  std::map<std::int64_t, std::size_t> with_weight;  // by target
};

std::vector<TreeLeaves> leaves_by_tree(const Ensemble& trees, const TreeTables& tables) {
  std::vector<TreeLeaves> leaves(tables.roots.size());
  std::size_t tree = 0;
  for (std::size_t at = 0; at < tables.next.size(); ++at) {
    const auto place = static_cast<std::int64_t>(at);
    if (tree + 1 < tables.roots.size() && tables.roots[tree + 1] == place) ++tree;
    if (!tables.is_leaf(at)) continue;
    ++leaves[tree].count;
    for (const LeafWeight& w : trees.weights[tables.node[at]]) ++leaves[tree].with_weight[w.target];
  }
  return leaves;
}

std::vector<Coverage> coverage_of(const Ensemble& trees, const std::vector<TreeLeaves>& leaves) {
  std::vector<Coverage> coverage(static_cast<std::size_t>(trees.targets), Coverage::kNone);
  for (const TreeLeaves& tree : leaves) {
    for (const auto& [target, count] : tree.with_weight) {
      Coverage& found = coverage[static_cast<std::size_t>(target)];
      found = std::max(found, count == tree.count ? Coverage::kAll : Coverage::kSome);
    }
  }
  return coverage;
}

// The trees in the order of their targets, if each has one, and each target as many trees.
bool sort_by_target(TreeTables& tables, const std::vector<TreeLeaves>& leaves,
                    std::int64_t targets) {
  if (static_cast<std::int64_t>(leaves.size()) % targets != 0) return false;
  std::vector<Ints> roots(static_cast<std::size_t>(targets));
  for (std::size_t tree = 0; tree < leaves.size(); ++tree) {
    if (leaves[tree].with_weight.size() != 1) return false;
    const std::int64_t target = leaves[tree].with_weight.begin()->first;
    roots[static_cast<std::size_t>(target)].push_back(tables.roots[tree]);
  }
  Ints sorted;
  for (const Ints& group : roots) {
    if (group.size() != roots[0].size()) return false;
    sorted.insert(sorted.end(), group.begin(), group.end());
  }
  tables.roots = std::move(sorted);
  return true;
}

// Weights of the records for one target, or for the one that each has.
Value weight_table(Value x, const Ensemble& trees, const TreeTables& tables,
                   std::optional<std::int64_t> target) {
  const auto count = static_cast<std::int64_t>(tables.next.size());
  x.node().make_room(static_cast<double>(count));
  // A leaf without a weight has 0 if there is a single target.
  const double none = trees.targets == 1 ? 0 : identity_of(trees.aggregate);
  std::vector<double> weights(tables.next.size(), none);
  for (std::size_t at = 0; at < tables.next.size(); ++at) {
    if (!tables.is_leaf(at)) continue;
    for (const LeafWeight& w : trees.weights[tables.node[at]]) {
      if (!target || *target == w.target) weights[at] = w.weight;
    }
  }
  return numbers(x.node(), {count}, weights, x.dtype());
}

void check_features(Node& n, const Ensemble& trees, std::int64_t features) {
  for (const TreeNode& node : trees.forest.nodes) {
    if (node.feature >= 0 && node.feature < features) continue;
    n.invalid(Code::kWrongAttribute, fmt::format("a branch reads feature {}, and its input has {}",
                                                 node.feature, features));
  }
}

Value sums_of(Value x, const Ensemble& trees, const TreeTables& tables, bool in_groups) {
  const Value at = leaves_of(x, records_of(x, tables, x.size(1)), tables.depth);
  const auto count = static_cast<std::int64_t>(tables.roots.size());
  if (in_groups) {
    const Value weights = weight_table(x, trees, tables, std::nullopt).take(at, 0, "fast");
    const Shape groups = {x.dim(0), trees.targets, count / trees.targets};
    return aggregated(weights.reshape_to(groups), trees.aggregate, count);
  }
  std::vector<Value> columns;
  for (std::int64_t t = 0; t < trees.targets; ++t) {
    const Value weights = weight_table(x, trees, tables, t).take(at, 0, "fast");
    columns.push_back(aggregated(weights, trees.aggregate, count));
  }
  return stack(x.node(), columns, 1);
}

}  // namespace

DType tree_dtype(Value x) { return x.dtype() == kFloat64 ? kFloat64 : kFloat32; }

LeafScores leaf_scores(Value x, const Ensemble& trees) {
  Node& n = x.node();
  if (trees.forest.roots.empty()) n.invalid(Code::kWrongAttribute, "it has no trees");
  check_features(n, trees, x.size(1));
  TreeTables tables = tree_tables(
      trees.forest, x.dtype(), [&](const char* what) { n.invalid(Code::kWrongAttribute, what); });
  const std::vector<TreeLeaves> leaves = leaves_by_tree(trees, tables);
  const bool in_groups = sort_by_target(tables, leaves, trees.targets);
  return {sums_of(x, trees, tables, in_groups), coverage_of(trees, leaves)};
}

}  // namespace tessera::import
