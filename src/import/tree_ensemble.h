// SPDX-License-Identifier: Apache-2.0
// The trees of a node of ai.onnx.ml, read and checked, and their leaves for rows of features.
#pragma once

#include <vector>

#include "import/estimators.h"
#include "import/tree_tables.h"

namespace tessera::import {

enum class Aggregate : std::uint8_t { kAverage, kSum, kMin, kMax };

// What a leaf adds to a target or class.
struct LeafWeight {
  std::int64_t target;
  double weight;
};

struct Ensemble {
  Forest forest;
  std::vector<std::vector<LeafWeight>> weights;  // by node
  std::int64_t targets = 0;
  std::vector<double> base_values;
  Aggregate aggregate = Aggregate::kSum;
  PostTransform transform = PostTransform::kNone;
};

// Trees of TreeEnsembleRegressor ("target") and TreeEnsembleClassifier ("class"), which are lists
// of nodes with numbers, and of TreeEnsemble, whose leaves stand apart. An error for what is no
// tree: children that are not there, lists of different lengths, weights of no leaf.
Ensemble numbered_trees(Node& n, const std::string& target, std::int64_t targets);
Ensemble trees_with_leaves(Node& n);

// What trees compute in: float64 for float64, else float32.
DType tree_dtype(Value x);

// Whether a target has a weight in all rows, in none, or only in some.
enum class Coverage : std::uint8_t { kNone, kSome, kAll };
struct LeafScores {
  Value scores;                    // (n, targets): what the leaves give it together, or 0
  std::vector<Coverage> coverage;  // by target
};
// The scores of rows of `tree_dtype`.
LeafScores leaf_scores(Value x, const Ensemble& trees);

}  // namespace tessera::import
