// SPDX-License-Identifier: Apache-2.0
// Estimators of ai.onnx.ml: what they are made into, and numbers that follow from their definition.
// Those of whole pipelines are checked beside onnxruntime, by tests/zoo.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "import/testing/refusals.h"
#include "import/testing/trees.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

using Doubles = std::vector<double>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Module module_of(const TestModel& m) {
  auto module = m.import();
  if (!module) throw std::runtime_error(render(module.error()));
  return std::move(*module);
}

onnx::NodeProto* ml_node(TestModel& m, const std::string& op,
                         const std::vector<std::string>& outputs = {"y"}) {
  onnx::NodeProto* n = m.node(op, {"x"}, outputs, "node");
  n->set_domain("ai.onnx.ml");
  return n;
}

// The last output for rows of `width` features.
Doubles run(const TestModel& m, std::int64_t width, const Doubles& x) {
  const Module module = module_of(m);
  const auto rows = static_cast<std::int64_t>(x.size()) / width;
  const std::vector<Tensor> inputs = {tensor_from_doubles({rows, width}, kFloat32, x)};
  const Tensor y = ops::evaluate(module, module.functions.at("main"), inputs).back();
  Doubles values;
  for (std::int64_t i = 0; i < y.num_elements(); ++i) values.push_back(element_as_double(y, i));
  return values;
}

// One branch on the values -1, 0, 1 and NaN: 1 where it is taken, else 2.
Doubles taken(const std::string& mode, bool missing_is_yes) {
  TestModel m;
  m.input("x", {4, 1});
  onnx::NodeProto* n = ml_node(m, "TreeEnsembleRegressor");
  TestTrees::stump(mode).write(n);
  set_int(n, "n_targets", 1);
  if (missing_is_yes) set_ints(n, "nodes_missing_value_tracks_true", {1, 0, 0});
  m.output("y");
  return run(m, 1, {-1, 0, 1, kNaN});
}

TEST(Estimators, BranchesCompareAsTheirModesSay) {
  for (const bool missing : {false, true}) {
    const double lost = missing ? 1 : 2;
    EXPECT_EQ(taken("BRANCH_LEQ", missing), (Doubles{1, 1, 2, lost}));
    EXPECT_EQ(taken("BRANCH_LT", missing), (Doubles{1, 2, 2, lost}));
    EXPECT_EQ(taken("BRANCH_GTE", missing), (Doubles{2, 1, 1, lost}));
    EXPECT_EQ(taken("BRANCH_GT", missing), (Doubles{2, 2, 1, lost}));
    EXPECT_EQ(taken("BRANCH_EQ", missing), (Doubles{2, 1, 2, lost}));
    EXPECT_EQ(taken("BRANCH_NEQ", missing), (Doubles{1, 2, 1, 1})) << "NaN equals nothing";
  }
}

TEST(Estimators, NothingIsLessThanTheLeast) {
  TestModel m;
  m.input("x", {3, 1});
  onnx::NodeProto* n = ml_node(m, "TreeEnsembleRegressor");
  TestTrees::stump("BRANCH_LT", -std::numeric_limits<float>::infinity()).write(n);
  set_ints(n, "nodes_missing_value_tracks_true", {1, 0, 0});
  m.output("y");
  EXPECT_EQ(run(m, 1, {-std::numeric_limits<double>::infinity(), 0, kNaN}), (Doubles{2, 2, 1}));
}

// Trees of different depths, targets and orders of nodes.
TestTrees small_forest() {
  TestTrees t;
  t.branch(4, 7, "BRANCH_LEQ", 1, 0, 5, 6);
  t.leaf(4, 6, 10);
  t.branch(4, 5, "BRANCH_GT", 0, 1, 2, 3);
  t.leaf(4, 3, 20);
  t.leaf(4, 2, 40);
  t.leaf(9, 0, 3, 1);
  return t;
}

TEST(Estimators, TreesGiveTheirTargetsTogether) {
  TestModel m;
  m.input("x", {3, 2});
  onnx::NodeProto* n = ml_node(m, "TreeEnsembleRegressor");
  small_forest().write(n);
  set_int(n, "n_targets", 2);
  set_floats(n, "base_values", {0.5F, 0.25F});
  m.output("y");
  EXPECT_EQ(run(m, 2, {0, 1, 2, 0, 1, -1}), (Doubles{10.5, 3.25, 40.5, 3.25, 20.5, 3.25}));
}

// The graph grows with the depth, not with the number of nodes or paths.
TEST(Estimators, AForestIsAsManyStepsAsItIsDeep) {
  constexpr int kDepth = 8;
  TestTrees t;
  for (std::int64_t tree = 0; tree < 20; ++tree) {
    for (std::int64_t id = 0; id < 1 << kDepth; ++id) {
      if (2 * id + 2 < 1 << kDepth) {
        t.branch(tree, id, "BRANCH_LEQ", id % 3, 0, 2 * id + 1, 2 * id + 2);
      } else {
        t.leaf(tree, id, 1);
      }
    }
  }
  TestModel m;
  m.input("x", {1, 3});
  t.write(ml_node(m, "TreeEnsembleRegressor"));
  m.output("y");
  EXPECT_LT(module_of(m).functions.at("main").num_nodes(), 20u * kDepth);
  EXPECT_EQ(run(m, 3, {0, 0, 0}), Doubles{20});
}

TEST(Estimators, OneScoreIsThatOfTheSecondOfTwoClasses) {
  TestModel m;
  m.input("x", {2, 1});
  onnx::NodeProto* n = ml_node(m, "TreeEnsembleClassifier", {"label", "y"});
  TestTrees t = TestTrees::stump();
  t.weights = {0.25F, 0.75F};
  t.write(n, "class");
  set_ints(n, "classlabels_int64s", {3, 5});
  m.output("label");
  EXPECT_EQ(run(m, 1, {0, 1}), (Doubles{3, 5}));
  m.output("y");
  EXPECT_EQ(run(m, 1, {0, 1}), (Doubles{0.75, 0.25, 0.25, 0.75}));
}

onnx::NodeProto* linear_classifier(TestModel& m) {
  m.input("x", {1, 2});
  onnx::NodeProto* n = ml_node(m, "LinearClassifier", {"label", "scores"});
  set_floats(n, "coefficients", {1, 0, 0, 1, 1, 1});
  set_floats(n, "intercepts", {0, 0, 0.5F});
  return n;
}

TEST(Estimators, AZipMapIsDroppedAndTold) {
  TestModel m;
  set_ints(linear_classifier(m), "classlabels_ints", {0, 1, 2});
  m.node("ZipMap", {"scores"}, {"maps"}, "zip")->set_domain("ai.onnx.ml");
  m.output("maps");
  const Module module = module_of(m);
  ASSERT_EQ(module.warnings.size(), 1u);
  EXPECT_EQ(module.warnings[0].severity, Severity::kWarning);
  EXPECT_NE(module.warnings[0].message.find("`ZipMap`"), std::string::npos);
  EXPECT_EQ(run(m, 2, {1, 2}), (Doubles{1, 2, 3.5}));
}

// The scores of classes with names are numbers; the names are not.
TEST(Estimators, LabelsOfStringsAreRefusedWhereTheyAreUsed) {
  TestModel m;
  set_strings(linear_classifier(m), "classlabels_strings", {"a", "b", "c"});
  m.output("scores");
  EXPECT_EQ(run(m, 2, {1, 2}), (Doubles{1, 2, 3.5}));
  m.output("label");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "label", "is of strings"}});
  m.proto.mutable_graph()->mutable_output()->RemoveLast();
  m.node("Identity", {"label"}, {"copy"}, "copy");
  m.output("copy");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "copy", "is of strings"}});
}

TEST(Estimators, CategoriesThatAreNotInTheListEndTheRun) {
  TestModel m;
  m.input("x", {1, 2}, onnx::TensorProto::INT64);
  onnx::NodeProto* n = ml_node(m, "OneHotEncoder");
  set_ints(n, "cats_int64s", {4, 2});
  set_int(n, "zeros", 0);
  m.output("y");
  const Module module = module_of(m);
  const auto encode = [&](const std::vector<std::int64_t>& x) {
    const std::vector<Tensor> inputs = {tensor_from_ints({1, 2}, kInt64, x)};
    return ops::evaluate(module, module.functions.at("main"), inputs);
  };
  EXPECT_EQ(element_as_double(encode({2, 4}).at(0), 1), 1);
  EXPECT_ANY_THROW(encode({2, 5}));
}

}  // namespace
}  // namespace tessera::import
