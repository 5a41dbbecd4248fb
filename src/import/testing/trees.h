// SPDX-License-Identifier: Apache-2.0
// A node of decision trees, of which tests spoil a part.
#pragma once

#include "import/testing/model.h"

namespace tessera::import {

struct TestTrees {
  std::vector<std::int64_t> trees, ids, features, yes, no;
  std::vector<std::string> modes;
  std::vector<float> values;
  std::vector<std::int64_t> leaf_trees, leaf_ids, targets;
  std::vector<float> weights;

  void branch(std::int64_t tree, std::int64_t id, const std::string& mode, std::int64_t feature,
              float value, std::int64_t if_yes, std::int64_t if_no) {
    trees.push_back(tree);
    ids.push_back(id);
    modes.push_back(mode);
    features.push_back(feature);
    values.push_back(value);
    yes.push_back(if_yes);
    no.push_back(if_no);
  }
  void leaf(std::int64_t tree, std::int64_t id, float weight, std::int64_t target = 0) {
    branch(tree, id, "LEAF", 0, 0, 0, 0);
    leaf_trees.push_back(tree);
    leaf_ids.push_back(id);
    targets.push_back(target);
    weights.push_back(weight);
  }
  // One branch with leaves of 1 and 2.
  static TestTrees stump(const std::string& mode = "BRANCH_LEQ", float value = 0) {
    TestTrees t;
    t.branch(0, 0, mode, 0, value, 1, 2);
    t.leaf(0, 1, 1);
    t.leaf(0, 2, 2);
    return t;
  }

  // `what` is "target" for a regressor, "class" for a classifier.
  void write(onnx::NodeProto* n, const std::string& what = "target") const {
    n->set_domain("ai.onnx.ml");
    set_ints(n, "nodes_treeids", trees);
    set_ints(n, "nodes_nodeids", ids);
    set_ints(n, "nodes_featureids", features);
    set_ints(n, "nodes_truenodeids", yes);
    set_ints(n, "nodes_falsenodeids", no);
    set_strings(n, "nodes_modes", modes);
    set_floats(n, "nodes_values", values);
    set_ints(n, what + "_treeids", leaf_trees);
    set_ints(n, what + "_nodeids", leaf_ids);
    set_ints(n, what + "_ids", targets);
    set_floats(n, what + "_weights", weights);
  }
};

}  // namespace tessera::import
