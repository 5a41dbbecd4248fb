// SPDX-License-Identifier: Apache-2.0
#include "import/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

namespace tessera::import {
namespace {

using NodeName = std::pair<std::int64_t, std::int64_t>;  // tree, node

// A list of numbers, in whichever of two attributes has it.
std::vector<double> numbers_attr(Node& n, const std::string& name) {
  const auto tensor = n.tensor_attr(name + "_as_tensor");
  if (!tensor) return n.floats_attr(name);
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor->num_elements(); ++i) {
    values.push_back(element_as_double(*tensor, i));
  }
  return values;
}

// A list of numbers, in a tensor.
std::vector<double> tensor_numbers_attr(Node& n, const std::string& name) {
  const auto tensor = n.tensor_attr(name);
  std::vector<double> values;
  for (std::int64_t i = 0; tensor && i < tensor->num_elements(); ++i) {
    values.push_back(element_as_double(*tensor, i));
  }
  return values;
}

BranchMode branch_mode(Node& n, const std::string& name) {
  constexpr std::pair<std::string_view, BranchMode> kModes[] = {
      {"BRANCH_LEQ", BranchMode::kLessEqual},
      {"BRANCH_LT", BranchMode::kLess},
      {"BRANCH_GTE", BranchMode::kGreaterEqual},
      {"BRANCH_GT", BranchMode::kGreater},
      {"BRANCH_EQ", BranchMode::kEqual},
      {"BRANCH_NEQ", BranchMode::kNotEqual},
      {"LEAF", BranchMode::kLeaf}};
  for (const auto& [text, mode] : kModes) {
    if (text == name) return mode;
  }
  n.invalid(
      Code::kWrongAttribute,
      fmt::format("its attribute `nodes_modes` has \"{}\", which is no mode of a node", name));
}

std::size_t named_node(Node& n, const std::map<NodeName, std::size_t>& names, NodeName name) {
  const auto it = names.find(name);
  if (it != names.end()) return it->second;
  n.invalid(Code::kWrongAttribute,
            fmt::format("its tree {} has no node {}, which is mentioned", name.first, name.second));
}

void add_weight(Node& n, Ensemble& trees, std::size_t node, LeafWeight weight) {
  if (trees.forest.nodes[node].mode != BranchMode::kLeaf) return;  // it is never reached
  if (weight.target < 0 || weight.target >= trees.targets) {
    n.invalid(Code::kWrongAttribute, fmt::format("a leaf has a weight for the target {} of {}",
                                                 weight.target, trees.targets));
  }
  auto& weights = trees.weights[node];
  if (std::ranges::any_of(weights,
                          [&](const LeafWeight& w) { return w.target == weight.target; })) {
    n.unsupported("a leaf with two weights for the same target");
  }
  weights.push_back(weight);
}

void check_targets(Node& n, Ensemble& trees) {
  if (trees.targets < 1) {
    n.invalid(Code::kWrongAttribute, fmt::format("it has {} targets", trees.targets));
  }
  n.make_room(static_cast<double>(trees.targets));
}

// The first node of each tree is its root; the nodes of a tree stand together.
std::map<NodeName, std::size_t> name_nodes(Node& n, Forest& forest, const Ints& tree_ids,
                                           const Ints& node_ids) {
  std::map<NodeName, std::size_t> names;
  std::set<std::int64_t> begun;
  for (std::size_t i = 0; i < tree_ids.size(); ++i) {
    if (!names.emplace(NodeName{tree_ids[i], node_ids[i]}, i).second) {
      n.invalid(Code::kWrongAttribute,
                fmt::format("its tree {} has two nodes {}", tree_ids[i], node_ids[i]));
    }
    if (i > 0 && tree_ids[i] == tree_ids[i - 1]) continue;
    if (!begun.insert(tree_ids[i]).second)
      n.unsupported("a tree whose nodes do not stand together");
    forest.roots.push_back(i);
  }
  return names;
}

void read_nodes(Node& n, Ensemble& trees, std::map<NodeName, std::size_t>& names) {
  const Ints tree_ids = n.ints_attr("nodes_treeids"), node_ids = n.ints_attr("nodes_nodeids");
  const Ints yes = n.ints_attr("nodes_truenodeids"), no = n.ints_attr("nodes_falsenodeids");
  const Ints features = n.ints_attr("nodes_featureids");
  const Ints missing = n.ints_attr("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = n.strings_attr("nodes_modes");
  const std::vector<double> values = numbers_attr(n, "nodes_values");
  for (const char* hint : {"nodes_hitrates", "nodes_hitrates_as_tensor"}) n.ignore_attr(hint);
  const auto count = static_cast<std::int64_t>(tree_ids.size());
  expect_length(n, "nodes_nodeids", node_ids.size(), count);
  expect_length(n, "nodes_truenodeids", yes.size(), count);
  expect_length(n, "nodes_falsenodeids", no.size(), count);
  expect_length(n, "nodes_featureids", features.size(), count);
  expect_length(n, "nodes_modes", modes.size(), count);
  expect_length(n, "nodes_values", values.size(), count);
  if (!missing.empty()) expect_length(n, "nodes_missing_value_tracks_true", missing.size(), count);
  names = name_nodes(n, trees.forest, tree_ids, node_ids);
  for (std::size_t i = 0; i < tree_ids.size(); ++i) {
    TreeNode node;
    node.mode = branch_mode(n, modes[i]);
    if (node.mode != BranchMode::kLeaf) {
      node.feature = features[i];
      node.values = {values[i]};
      node.yes = named_node(n, names, {tree_ids[i], yes[i]});
      node.no = named_node(n, names, {tree_ids[i], no[i]});
      node.missing_is_yes = !missing.empty() && missing[i] == 1;
    }
    trees.forest.nodes.push_back(std::move(node));
  }
}

}  // namespace

Ensemble numbered_trees(Node& n, const std::string& target, std::int64_t targets) {
  Ensemble trees;
  trees.targets = targets;
  check_targets(n, trees);
  trees.transform = post_transform_attr(n);
  trees.base_values = numbers_attr(n, "base_values");
  std::map<NodeName, std::size_t> names;
  read_nodes(n, trees, names);
  trees.weights.resize(trees.forest.nodes.size());
  const Ints ids = n.ints_attr(target + "_ids"), of_trees = n.ints_attr(target + "_treeids"),
             of_nodes = n.ints_attr(target + "_nodeids");
  const std::vector<double> weights = numbers_attr(n, target + "_weights");
  const auto count = static_cast<std::int64_t>(ids.size());
  expect_length(n, target + "_treeids", of_trees.size(), count);
  expect_length(n, target + "_nodeids", of_nodes.size(), count);
  expect_length(n, target + "_weights", weights.size(), count);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    add_weight(n, trees, named_node(n, names, {of_trees[i], of_nodes[i]}), {ids[i], weights[i]});
  }
  return trees;
}

namespace {

// Branches come first among the nodes, then leaves.
class LeavesApart {
 public:
  explicit LeavesApart(Node& n)
      : n_(n),
        yes_(n.ints_attr("nodes_truenodeids")),
        no_(n.ints_attr("nodes_falsenodeids")),
        yes_leaf_(n.ints_attr("nodes_trueleafs")),
        no_leaf_(n.ints_attr("nodes_falseleafs")),
        features_(n.ints_attr("nodes_featureids")),
        missing_(n.ints_attr("nodes_missing_value_tracks_true")),
        modes_(tensor_numbers_attr(n, "nodes_modes")),
        splits_(tensor_numbers_attr(n, "nodes_splits")),
        members_(tensor_numbers_attr(n, "membership_values")),
        count_(static_cast<std::int64_t>(features_.size())),
        leaves_(static_cast<std::int64_t>(n.ints_attr("leaf_targetids").size())) {
    expect_length(n, "nodes_truenodeids", yes_.size(), count_);
    expect_length(n, "nodes_falsenodeids", no_.size(), count_);
    expect_length(n, "nodes_trueleafs", yes_leaf_.size(), count_);
    expect_length(n, "nodes_falseleafs", no_leaf_.size(), count_);
    expect_length(n, "nodes_modes", modes_.size(), count_);
    expect_length(n, "nodes_splits", splits_.size(), count_);
    if (!missing_.empty()) {
      expect_length(n, "nodes_missing_value_tracks_true", missing_.size(), count_);
    }
  }

  Forest forest() {
    Forest forest;
    for (std::size_t i = 0; i < features_.size(); ++i) forest.nodes.push_back(branch(i));
    forest.nodes.resize(static_cast<std::size_t>(count_ + leaves_));
    for (const std::int64_t root : n_.ints_attr("tree_roots")) {
      forest.roots.push_back(child(root, false));
    }
    return forest;
  }

 private:
  std::size_t child(std::int64_t id, bool is_leaf) const {
    if (id < 0 || id >= (is_leaf ? leaves_ : count_)) {
      n_.invalid(Code::kWrongAttribute,
                 fmt::format("its {} {} is not one of {}", is_leaf ? "leaf" : "node", id,
                             is_leaf ? leaves_ : count_));
    }
    return static_cast<std::size_t>(is_leaf ? count_ + id : id);
  }

  TreeNode branch(std::size_t i) {
    const double mode = modes_[i];
    if (!(mode >= 0 && mode <= 6)) {
      n_.invalid(Code::kWrongAttribute,
                 fmt::format("its `nodes_modes` has {}; they are 0 to 6", mode));
    }
    TreeNode node;
    node.mode = static_cast<BranchMode>(mode);
    node.feature = features_[i];
    node.yes = child(yes_[i], yes_leaf_[i] != 0);
    node.no = child(no_[i], no_leaf_[i] != 0);
    node.missing_is_yes = !missing_.empty() && missing_[i] != 0;
    node.values = {splits_[i]};
    if (node.mode == BranchMode::kMember) node = with_set(std::move(node));
    return node;
  }

  // The next set, of which NaN is the end.
  TreeNode with_set(TreeNode node) {
    node.values.clear();
    while (next_member_ < members_.size() && !std::isnan(members_[next_member_])) {
      node.values.push_back(members_[next_member_++]);
    }
    ++next_member_;
    std::ranges::sort(node.values);
    if (!node.values.empty()) return node;
    node.mode = BranchMode::kLessEqual;  // than NaN: never
    node.values = {std::numeric_limits<double>::quiet_NaN()};
    return node;
  }

  Node& n_;
  Ints yes_, no_, yes_leaf_, no_leaf_, features_, missing_;
  std::vector<double> modes_, splits_, members_;
  std::int64_t count_, leaves_;
  std::size_t next_member_ = 0;
};

}  // namespace

Ensemble trees_with_leaves(Node& n) {
  Ensemble trees;
  trees.targets = n.int_attr("n_targets", 1);
  check_targets(n, trees);
  n.ignore_attr("nodes_hitrates");
  trees.forest = LeavesApart(n).forest();
  trees.weights.resize(trees.forest.nodes.size());
  const Ints ids = n.ints_attr("leaf_targetids");
  const std::vector<double> weights = tensor_numbers_attr(n, "leaf_weights");
  expect_length(n, "leaf_weights", weights.size(), static_cast<std::int64_t>(ids.size()));
  const std::size_t branches = trees.forest.nodes.size() - ids.size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    add_weight(n, trees, branches + i, {ids[i], weights[i]});
  }
  const std::int64_t aggregate = n.int_attr("aggregate_function", 1);
  const std::int64_t transform = n.int_attr("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4) {
    n.invalid(Code::kWrongAttribute,
              "its `aggregate_function` or `post_transform` is none there is");
  }
  if (transform == 1 || transform == 2) {
    n.unsupported("post_transform 1 or 2, which ONNX and onnxruntime read as each other,");
  }
  trees.aggregate = static_cast<Aggregate>(aggregate);
  trees.transform = static_cast<PostTransform>(transform);
  return trees;
}

}  // namespace tessera::import
