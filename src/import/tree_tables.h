// SPDX-License-Identifier: Apache-2.0
// Decision trees as tables that a fixed number of steps walks: in each, all trees and rows read a
// record of their own and go on to one of the two that follow it. The size is that of the trees,
// whatever their form.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "types/dtype.h"

namespace tessera::import {

enum class BranchMode : std::uint8_t {
  kLessEqual,
  kLess,
  kGreaterEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember,
  kLeaf,
};

struct TreeNode {
  BranchMode mode = BranchMode::kLeaf;
  std::int64_t feature = 0;
  std::vector<double> values;   // what the feature is compared with: one, or a set's, ascending
  std::size_t yes = 0, no = 0;  // nodes
  bool missing_is_yes = false;  // where the feature is NaN
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> roots;
};

// Each record leads to a pair: to the second of it where x[feature] <= threshold, else to the
// first. NaN, which is not <= anything, leads to the second where `missing` is set. A leaf leads to
// itself for ever: its threshold is NaN.
struct TreeTables {
  std::vector<std::int64_t> next, feature;
  std::vector<double> threshold;
  std::vector<bool> missing;
  std::vector<std::size_t> node;    // of the forest: a leaf's
  std::vector<std::int64_t> roots;  // records
  std::int64_t depth = 0;           // steps to the deepest leaf

  bool is_leaf(std::size_t at) const { return next[at] == static_cast<std::int64_t>(at); }
};

inline constexpr std::int64_t kMostTreeLevels = 1000;

// Thresholds are numbers of `dtype`. `refuse` does not return: it is called with what is wrong with
// a branch that two others lead to (all cycles have one), and with trees of too many levels.
TreeTables tree_tables(const Forest& forest, DType dtype,
                       const std::function<void(const char*)>& refuse);

}  // namespace tessera::import
