// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble of ai.onnx.ml.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "import/converters.h"
#include "import/tree_ensemble.h"

namespace tessera::import {
namespace {

Value with_base_values(Value scores, const Ensemble& trees) {
  if (trees.base_values.empty()) return scores;
  Node& n = scores.node();
  expect_length(n, "base_values", trees.base_values.size(), trees.targets);
  return scores + numbers(n, {trees.targets}, trees.base_values, scores.dtype());
}

// A row without a weight for a target has 0 there in onnxruntime, and the base value elsewhere.
Value regression(Node& n, const Ensemble& trees) {
  const Value x = feature_rows(n);
  const LeafScores leaves = leaf_scores(x.cast(tree_dtype(x)), trees);
  const bool all =
      std::ranges::all_of(leaves.coverage, [](Coverage c) { return c == Coverage::kAll; });
  if (!all && trees.targets > 1 && !trees.base_values.empty()) {
    n.unsupported("a base value of a target that not all rows have a weight for");
  }
  return transformed_targets(with_base_values(leaves.scores, trees), trees.transform);
}

std::vector<NodeId> convert_tree_regressor(Node& n) {
  Ensemble trees = numbered_trees(n, "target", n.int_attr("n_targets", 1));
  trees.aggregate = static_cast<Aggregate>(
      choice_attr(n, "aggregate_function", {"AVERAGE", "SUM", "MIN", "MAX"}, 1));
  return {regression(n, trees).cast(kFloat32)};
}

std::vector<NodeId> convert_tree_ensemble(Node& n) {
  return {regression(n, trees_with_leaves(n)).cast(n.dtype(n.input(0)))};
}

std::vector<NodeId> answer(const Classes& classes, Value place, Value scores) {
  return {labels_at(classes, place), scores.cast(kFloat32)};
}

// The class with the greatest score, the first of several, among those that have one.
std::vector<NodeId> many_classes(const Ensemble& trees, const Classes& classes,
                                 const LeafScores& leaves) {
  Node& n = leaves.scores.node();
  const Value scores = with_base_values(leaves.scores, trees);
  const auto has = [&](Coverage c) { return std::ranges::count(leaves.coverage, c) > 0; };
  Value compared = scores;
  if (trees.base_values.empty() && has(Coverage::kSome)) {
    n.unsupported("a class that has a weight in some leaves of each tree, but not in all of one,");
  }
  if (trees.base_values.empty() && has(Coverage::kNone)) {
    std::vector<double> none;
    for (const Coverage c : leaves.coverage) {
      none.push_back(c == Coverage::kNone ? -std::numeric_limits<double>::infinity() : 0);
    }
    compared = compared + numbers(n, {trees.targets}, none, scores.dtype());
  }
  const Value place = compared.apply("argmax", {{"axis", Ints{1}}, {"dtype", kInt64}});
  return answer(classes, place, transformed(scores, trees.transform));
}

bool all_are_positive(const Ensemble& trees) {
  return std::ranges::all_of(trees.weights, [](const auto& weights) {
    return std::ranges::all_of(weights, [](const LeafWeight& w) { return w.weight >= 0; });
  });
}

// As onnxruntime has it. Trees that give a score to the first class alone mean the second one by
// it. All weights positive: it is a probability, else a score around 0.
std::vector<NodeId> one_score(const Ensemble& trees, const Classes& classes, Value score) {
  const bool is_probability = all_are_positive(trees);
  if (!trees.base_values.empty()) score = score + trees.base_values[0];
  const Value place = (score > (is_probability ? 0.5 : 0)).cast(kInt64).squeeze(1);
  return answer(classes, place, both_classes(score, is_probability, trees.transform));
}

std::vector<NodeId> two_classes(const Ensemble& trees, const Classes& classes,
                                const LeafScores& leaves) {
  Node& n = leaves.scores.node();
  const Coverage first = leaves.coverage[0], second = leaves.coverage[1];
  if (trees.base_values.size() > 1) n.unsupported("more than one of `base_values` for two classes");
  const Value of_first = leaves.scores.slice(1, 0, 1), of_second = leaves.scores.slice(1, 1, 2);
  if (second == Coverage::kNone) return one_score(trees, classes, of_first);
  if (second == Coverage::kSome) {
    n.unsupported(
        "a second class that has a weight in some leaves of each tree, but not in all of "
        "one,");
  }
  if (first == Coverage::kNone) {
    if (!trees.base_values.empty()) n.unsupported("`base_values` of the second class alone");
    const Value place = of_second > (all_are_positive(trees) ? 0.5 : 0);
    return answer(classes, place.cast(kInt64).squeeze(1),
                  transformed(leaves.scores, trees.transform));
  }
  // Where two classes have scores, the first one's does not count.
  if (!classes.are_strings && classes.labels != Ints{0, 1}) {
    n.unsupported("a score for each of two classes whose labels are not 0 and 1");
  }
  const Value scores = trees.base_values.empty()
                           ? leaves.scores
                           : concat(n, {of_first + trees.base_values[0], of_second}, 1);
  return answer(classes, (of_second > 0.0).cast(kInt64).squeeze(1),
                transformed(scores, trees.transform));
}

std::vector<NodeId> convert_tree_classifier(Node& n) {
  const Classes classes = classes_attr(n, "classlabels_int64s");
  const Ensemble trees = numbered_trees(n, "class", classes.count);
  const Value x = feature_rows(n);
  const LeafScores leaves = leaf_scores(x.cast(tree_dtype(x)), trees);
  if (classes.count == 1) n.unsupported("a single class");
  if (classes.count == 2) return two_classes(trees, classes, leaves);
  return many_classes(trees, classes, leaves);
}

constexpr Converter kTreeEnsemblesTable[] = {
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, convert_tree_regressor},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, convert_tree_classifier},
    {"ai.onnx.ml.TreeEnsemble", 1, convert_tree_ensemble},
};

}  // namespace

extern const std::span<const Converter> tree_ensembles_converters;
const std::span<const Converter> tree_ensembles_converters = kTreeEnsemblesTable;

}  // namespace tessera::import
