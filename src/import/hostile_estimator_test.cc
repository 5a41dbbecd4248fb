// SPDX-License-Identifier: Apache-2.0
// Estimators whose trees are no trees and whose lists do not fit together: each is refused with a
// diagnostic that names the node, and takes no more time or memory than its file is large.
#include <gtest/gtest.h>

#include "import/testing/refusals.h"
#include "import/testing/trees.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;

void expect_refused_trees(const TestTrees& trees, Code code, const std::string& finding,
                          std::int64_t targets = 1) {
  TestModel m;
  m.input("x", {2, 3});
  onnx::NodeProto* n = m.node("TreeEnsembleRegressor", {"x"}, {"y"}, "node");
  trees.write(n);
  set_int(n, "n_targets", targets);
  m.output("y");
  expect_refused(m.import(), {{code, "node", finding}});
}

TEST(HostileEstimator, ChildrenThatAreNoChildren) {
  for (const std::int64_t child : {std::int64_t{-1}, std::int64_t{3}, INT64_MAX, INT64_MIN}) {
    TestTrees t = TestTrees::stump();
    t.yes[0] = child;
    expect_refused_trees(t, Code::kWrongAttribute, "which is mentioned");
  }
  TestTrees itself = TestTrees::stump();
  itself.no[0] = 0;
  expect_refused_trees(itself, Code::kWrongAttribute, "two branches lead to the same");
  TestTrees cycle;
  cycle.branch(0, 0, "BRANCH_LEQ", 0, 0, 1, 3);
  cycle.branch(0, 1, "BRANCH_LEQ", 0, 0, 2, 3);
  cycle.branch(0, 2, "BRANCH_EQ", 0, 0, 1, 3);
  cycle.leaf(0, 3, 1);
  expect_refused_trees(cycle, Code::kWrongAttribute, "two branches lead to the same");
}

// Each branch leads to the next one twice, or two to each of the next two: 2^500 paths.
TEST(HostileEstimator, PathsAreNotWalked) {
  TestTrees twice, ladder;
  for (std::int64_t i = 0; i < 500; ++i) {
    twice.branch(0, i, "BRANCH_NEQ", 0, 0, i + 1, i + 1);
    ladder.branch(0, 2 * i, "BRANCH_LEQ", 0, 0, 2 * i + 2, 2 * i + 3);
    ladder.branch(0, 2 * i + 1, "BRANCH_LEQ", 0, 0, 2 * i + 2, 2 * i + 3);
  }
  twice.leaf(0, 500, 1);
  ladder.leaf(0, 1000, 1);
  ladder.leaf(0, 1001, 1);
  expect_refused_trees(ladder, Code::kWrongAttribute, "two branches lead to the same");
  TestModel m;
  m.input("x", {2, 1});
  twice.write(m.node("TreeEnsembleRegressor", {"x"}, {"y"}, "node"));
  m.output("y");
  const auto module = m.import();
  ASSERT_TRUE(module);
  EXPECT_LT(module->functions.at("main").num_nodes(), 20000u);
}

TEST(HostileEstimator, TreesHaveAtMost1000Levels) {
  TestTrees t;
  for (std::int64_t i = 0; i < 100000; ++i) {
    t.branch(0, 2 * i, "BRANCH_LEQ", 0, 0, 2 * i + 1, 2 * i + 2);
    t.leaf(0, 2 * i + 1, 1);
  }
  t.leaf(0, 200000, 1);
  expect_refused_trees(t, Code::kWrongAttribute, "more than 1000 levels");
}

TEST(HostileEstimator, ListsOfNodesHaveOneLength) {
  const auto spoil = [](const auto& change, const std::string& finding) {
    TestTrees t = TestTrees::stump();
    change(t);
    expect_refused_trees(t, Code::kWrongAttribute, finding);
  };
  spoil([](TestTrees& t) { t.ids.pop_back(); }, "`nodes_nodeids`");
  spoil([](TestTrees& t) { t.features.clear(); }, "`nodes_featureids`");
  spoil([](TestTrees& t) { t.yes.push_back(0); }, "`nodes_truenodeids`");
  spoil([](TestTrees& t) { t.no.clear(); }, "`nodes_falsenodeids`");
  spoil([](TestTrees& t) { t.modes.pop_back(); }, "`nodes_modes`");
  spoil([](TestTrees& t) { t.values.pop_back(); }, "`nodes_values`");
  spoil([](TestTrees& t) { t.weights.pop_back(); }, "`target_weights`");
  spoil([](TestTrees& t) { t.leaf_ids.pop_back(); }, "`target_nodeids`");
  spoil([](TestTrees& t) { t.leaf_ids[0] = 99; }, "which is mentioned");
  spoil([](TestTrees& t) { t.modes[0] = "BRANCH"; }, "no mode of a node");
  spoil([](TestTrees& t) { t.ids[1] = 0; }, "two nodes 0");
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{3}, INT64_MAX, INT64_MIN}) {
    spoil([&](TestTrees& t) { t.features[0] = bad; }, "a branch reads feature");
    spoil([&](TestTrees& t) { t.targets[0] = bad; }, "a leaf has a weight for the target");
  }
  expect_refused_trees({}, Code::kWrongAttribute, "it has no trees");
}

TEST(HostileEstimator, TargetsHaveALimit) {
  for (const std::int64_t targets : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    expect_refused_trees(TestTrees::stump(), Code::kWrongAttribute, "targets", targets);
  }
  for (const std::int64_t targets : {std::int64_t{1} << 40, INT64_MAX}) {
    expect_refused_trees(TestTrees::stump(), Code::kLimitExceeded, "`constant-bytes`", targets);
  }
}

// ---- Leaves that stand apart ----

void set_tensor(onnx::NodeProto* n, const std::string& name, const std::vector<float>& values) {
  auto* t = add_attribute(n, name, onnx::AttributeProto::TENSOR)->mutable_t();
  t->set_data_type(onnx::TensorProto::FLOAT);
  t->add_dims(static_cast<std::int64_t>(values.size()));
  for (const float v : values) t->add_float_data(v);
}

struct Apart {
  Ints roots = {0}, yes = {0}, no = {1}, yes_leaf = {1}, no_leaf = {1}, targets = {0, 0};
  std::vector<float> modes = {0}, splits = {0}, weights = {1, 2}, members = {};
};

std::string refusal(const Apart& a) {
  TestModel m;
  m.input("x", {2, 3});
  onnx::NodeProto* n = m.node("TreeEnsemble", {"x"}, {"y"}, "node");
  n->set_domain("ai.onnx.ml");
  set_ints(n, "tree_roots", a.roots);
  set_ints(n, "nodes_featureids", {0});
  set_ints(n, "nodes_truenodeids", a.yes);
  set_ints(n, "nodes_falsenodeids", a.no);
  set_ints(n, "nodes_trueleafs", a.yes_leaf);
  set_ints(n, "nodes_falseleafs", a.no_leaf);
  set_ints(n, "leaf_targetids", a.targets);
  set_tensor(n, "nodes_modes", a.modes);
  set_tensor(n, "nodes_splits", a.splits);
  set_tensor(n, "leaf_weights", a.weights);
  if (!a.members.empty()) set_tensor(n, "membership_values", a.members);
  m.output("y");
  const auto result = m.import();
  return result ? "" : result.error().list[0].message;
}

TEST(HostileEstimator, LeavesApartAreCheckedToo) {
  EXPECT_EQ(refusal({}), "");
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{2}, INT64_MAX, INT64_MIN}) {
    EXPECT_NE(refusal({.roots = {bad}}).find("is not one of 1"), std::string::npos);
    EXPECT_NE(refusal({.yes = {bad}}).find("is not one of 2"), std::string::npos);
    EXPECT_NE(refusal({.targets = {0, bad}}).find("a weight for the target"), std::string::npos);
  }
  EXPECT_NE(refusal({.roots = {0, 0}}).find("two branches lead"), std::string::npos);
  EXPECT_NE(refusal({.yes_leaf = {0}}).find("two branches lead"), std::string::npos) << "a cycle";
  EXPECT_NE(refusal({.no = {}}).find("`nodes_falsenodeids`"), std::string::npos);
  EXPECT_NE(refusal({.weights = {1}}).find("`leaf_weights`"), std::string::npos);
  for (const float mode : {-1.0F, 7.0F, 0.0F / 0.0F}) {
    EXPECT_NE(refusal({.modes = {mode}}).find("they are 0 to 6"), std::string::npos);
  }
  EXPECT_EQ(refusal({.modes = {6}}), "") << "a set of nothing";
  EXPECT_NE(refusal({.modes = {6}, .members = std::vector<float>(5000, 1)}).find("1000 levels"),
            std::string::npos);
}

// ---- Others ----

TEST(HostileEstimator, ListsOfSupportVectorsFit) {
  const auto import = [](const Ints& per_class, std::size_t coefficients, std::size_t rho,
                         std::size_t vectors) {
    TestModel m;
    m.input("x", {2, 3});
    onnx::NodeProto* n = m.node("SVMClassifier", {"x"}, {"label", "y"}, "node");
    n->set_domain("ai.onnx.ml");
    set_ints(n, "classlabels_ints", {0, 1, 2});
    set_ints(n, "vectors_per_class", per_class);
    set_floats(n, "coefficients", std::vector<float>(coefficients, 1));
    set_floats(n, "rho", std::vector<float>(rho, 1));
    set_floats(n, "support_vectors", std::vector<float>(vectors, 1));
    m.output("y");
    const auto result = m.import();
    return result ? "" : std::string(code_text(result.error().list[0].code));
  };
  EXPECT_EQ(import({1, 2, 1}, 8, 3, 12), "");
  for (const Ints& counts : {Ints{1, 2}, Ints{-1, 4, 1}, Ints{INT64_MAX, 1, 1}, Ints{1, 2, 2}}) {
    EXPECT_EQ(import(counts, 8, 3, 12), "E0208");
  }
  EXPECT_EQ(import({1, 2, 1}, 7, 3, 12), "E0208");
  EXPECT_EQ(import({1, 2, 1}, 8, 2, 12), "E0208");
  EXPECT_EQ(import({1, 2, 1}, 8, 3, 11), "E0208");
}

TEST(HostileEstimator, PairsOfClassesHaveALimit) {
  TestModel m;
  m.input("x", {2, 1});
  onnx::NodeProto* n = m.node("SVMClassifier", {"x"}, {"label", "y"}, "node");
  n->set_domain("ai.onnx.ml");
  constexpr std::size_t kClasses = 20000;
  set_ints(n, "classlabels_ints", Ints(kClasses, 1));
  Ints counts(kClasses, 0);
  counts[0] = 1;
  set_ints(n, "vectors_per_class", counts);
  set_floats(n, "coefficients", std::vector<float>(kClasses - 1, 1));
  set_floats(n, "rho", {1});
  set_floats(n, "support_vectors", {1});
  m.output("y");
  const auto result = m.import();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().list[0].message.find("`rho`"), std::string::npos);
}

TEST(HostileEstimator, CoefficientsFit) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{5}, std::size_t{7}}) {
    for (const std::int64_t targets : {std::int64_t{2}, std::int64_t{0}, INT64_MIN, INT64_MAX}) {
      TestModel m;
      m.input("x", {2, 3});
      onnx::NodeProto* n = m.node("LinearRegressor", {"x"}, {"y"}, "node");
      n->set_domain("ai.onnx.ml");
      set_int(n, "targets", targets);
      set_floats(n, "coefficients", std::vector<float>(count, 1));
      m.output("y");
      expect_refused(m.import(), {{Code::kWrongAttribute, "node", "coefficients"}});
    }
  }
  for (const char* op : {"Scaler", "Imputer"}) {
    TestModel m;
    m.input("x", {2, 3});
    onnx::NodeProto* n = m.node(op, {"x"}, {"y"}, "node");
    n->set_domain("ai.onnx.ml");
    m.output("y");
    const auto result = m.import();
    ASSERT_FALSE(result) << op;
    EXPECT_EQ(code_text(result.error().list[0].code), "E0208") << op;
  }
}

}  // namespace
}  // namespace tessera::import
