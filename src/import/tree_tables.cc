// SPDX-License-Identifier: Apache-2.0
#include "import/tree_tables.h"

#include <cmath>
#include <limits>

namespace tessera::import {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The next smaller number: x < t where x <= that. There is none below the least, nor of NaN.
double before(double t, DType dtype) {
  if (std::isnan(t) || t == -kInfinity) return kNaN;
  if (dtype == kFloat64) return std::nextafter(t, -kInfinity);
  return static_cast<double>(
      std::nextafter(static_cast<float>(t), -std::numeric_limits<float>::infinity()));
}

class TableMaker {
 public:
  TableMaker(const Forest& forest, DType dtype, const std::function<void(const char*)>& refuse)
      : forest_(forest),
        dtype_(dtype),
        refuse_(refuse),
        pair_(forest.nodes.size(), kNone),
        is_open_(forest.nodes.size()) {}

  TreeTables run() {
    for (const std::size_t root : forest_.roots) {
      const std::size_t at = make_records(1);
      tables_.roots.push_back(static_cast<std::int64_t>(at));
      reach(root);
      put(at, {root, 0});
      // Breadth first: the upper levels, which all rows read, lie together.
      for (std::size_t k = 0; k < open_.size(); ++k) expand(open_[k]);
      open_.clear();
    }
    return std::move(tables_);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Place {
    std::size_t node;
    std::int64_t level;
  };

  std::size_t make_records(std::size_t count) {
    const std::size_t at = tables_.next.size();
    tables_.next.resize(at + count);
    tables_.feature.resize(at + count);
    tables_.threshold.resize(at + count, kNaN);
    tables_.missing.resize(at + count);
    tables_.node.resize(at + count);
    return at;
  }

  bool is_leaf(std::size_t node) const { return forest_.nodes[node].mode == BranchMode::kLeaf; }

  // A branch has one parent, or is a root.
  void reach(std::size_t node) {
    if (is_leaf(node)) return;
    if (pair_[node] != kNone) refuse_("two branches lead to the same one, or to a root");
    pair_[node] = make_records(2);
  }

  void write(std::size_t at, const TreeNode& branch, double threshold, bool missing,
             std::size_t next) {
    tables_.feature[at] = branch.feature;
    tables_.threshold[at] = threshold;
    tables_.missing[at] = missing;
    tables_.next[at] = static_cast<std::int64_t>(next);
  }

  // The record of a node; a node has several where a branch needs more than one comparison.
  void put(std::size_t at, Place place) {
    if (place.level > kMostTreeLevels) refuse_("a tree has more than 1000 levels");
    const TreeNode& node = forest_.nodes[place.node];
    tables_.depth = std::max(tables_.depth, place.level);
    switch (node.mode) {
      case BranchMode::kLeaf:
        tables_.next[at] = static_cast<std::int64_t>(at);
        tables_.node[at] = place.node;
        return;
      case BranchMode::kLessEqual:
      case BranchMode::kEqual:
      case BranchMode::kMember:
        write(at, node, node.values.front(), node.missing_is_yes, pair_[place.node]);
        break;
      case BranchMode::kLess:
        write(at, node, before(node.values.front(), dtype_), node.missing_is_yes,
              pair_[place.node]);
        break;
      case BranchMode::kNotEqual:  // NaN is not equal to anything
        write(at, node, node.values.front(), false, pair_[place.node]);
        break;
      case BranchMode::kGreater:
      case BranchMode::kGreaterEqual:
        write_greater(at, place.node);
        break;
    }
    if (!is_open_[place.node]) open_.push_back(place);
    is_open_[place.node] = true;
  }

  // The second of the pair is the `no`: nothing is greater than NaN.
  void write_greater(std::size_t at, std::size_t id) {
    const TreeNode& node = forest_.nodes[id];
    const double value = node.values.front();
    const double threshold = std::isnan(value)                   ? kInfinity
                             : node.mode == BranchMode::kGreater ? value
                                                                 : before(value, dtype_);
    write(at, node, threshold, !node.missing_is_yes, pair_[id]);
  }

  void expand(Place place) {
    const TreeNode& node = forest_.nodes[place.node];
    reach(node.yes);
    if (node.no != node.yes) reach(node.no);
    const std::size_t pair = pair_[place.node];
    const std::int64_t below = place.level + 1;
    switch (node.mode) {
      case BranchMode::kLessEqual:
      case BranchMode::kLess:
        put(pair, {node.no, below});
        put(pair + 1, {node.yes, below});
        return;
      case BranchMode::kGreater:
      case BranchMode::kGreaterEqual:
        put(pair, {node.yes, below});
        put(pair + 1, {node.no, below});
        return;
      case BranchMode::kNotEqual:
        return expand_set(place, node.no, node.yes);
      default:
        return expand_set(place, node.yes, node.no);
    }
  }

  // For each number of the set, ascending: x <= v, and then not x < v. Nodes are put at their
  // deepest place first, which is where they are expanded from.
  void expand_set(Place place, std::size_t inside, std::size_t outside) {
    const TreeNode& node = forest_.nodes[place.node];
    const std::size_t count = node.values.size();
    const std::int64_t deepest = place.level + static_cast<std::int64_t>(count) + 1;
    std::size_t pair = pair_[place.node];
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t inner = make_records(2);
      write(pair + 1, node, before(node.values[k], dtype_), false, inner);
      put(inner, {inside, deepest});
      put(inner + 1, {outside, deepest});
      if (k + 1 == count) {
        put(pair, {outside, deepest});
      } else {
        const std::size_t further = make_records(2);
        write(pair, node, node.values[k + 1], false, further);
        pair = further;
      }
    }
  }

  const Forest& forest_;
  DType dtype_;
  const std::function<void(const char*)>& refuse_;
  std::vector<std::size_t> pair_;  // by branch: where its pair is
  std::vector<bool> is_open_;      // by branch: it has been put
  std::vector<Place> open_;
  TreeTables tables_;
};

}  // namespace

TreeTables tree_tables(const Forest& forest, DType dtype,
                       const std::function<void(const char*)>& refuse) {
  return TableMaker(forest, dtype, refuse).run();
}

}  // namespace tessera::import
