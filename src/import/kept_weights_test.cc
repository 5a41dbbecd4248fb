// SPDX-License-Identifier: Apache-2.0
// Initializers that stay parameters.
#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

ImportOptions keeping(std::set<std::string> names, bool all = false) {
  ImportOptions options;
  options.kept = {std::move(names), all};
  return options;
}

std::vector<std::string> params_of(const Module& module) {
  std::vector<std::string> names;
  const relay::Function& main = module.functions.at("main");
  for (const relay::NodeId id : main.params()) names.push_back(main.as<relay::Param>(id)->name);
  return names;
}

std::vector<std::string> kept_in(const Module& module) {
  std::vector<std::string> names;
  for (const KeptWeight& w : module.kept_weights) names.push_back(w.name);
  return names;
}

using Names = std::vector<std::string>;

// y = clip(x * v + w), with bounds that are initializers, too.
TestModel clipped() {
  TestModel m;
  m.floats("v", {2}, {2, 3});
  m.floats("w", {2}, {4, 5});
  m.floats("low", {}, {0});
  m.floats("high", {}, {6});
  m.input("x", {2});
  m.node("Mul", {"x", "v"}, {"a"});
  m.node("Add", {"a", "w"}, {"b"});
  m.node("Clip", {"b", "low", "high"}, {"y"}, "clip");
  m.output("y");
  return m;
}

TEST(KeptWeights, ComeBehindTheInputsWithTheirValues) {
  const Module module = imported(clipped(), keeping({"w"}));
  EXPECT_EQ(params_of(module), (Names{"x", "w"}));
  ASSERT_EQ(kept_in(module), Names{"w"});
  EXPECT_EQ(element_as_double(module.constants[module.kept_weights[0].value], 1), 5);
}

TEST(KeptWeights, ABoundMayBeOne) {
  EXPECT_EQ(params_of(imported(clipped(), keeping({"high"}))), (Names{"x", "high"}));
}

TEST(KeptWeights, AllAreThoseOfMoreThanOneNumber) {
  const Module module = imported(clipped(), keeping({}, true));
  EXPECT_EQ(params_of(module), (Names{"x", "v", "w"}));
  EXPECT_EQ(kept_in(module), (Names{"v", "w"}));
}

// The constants' arithmetic of exporters is not done at import where one of them may change.
TEST(KeptWeights, AreNotFolded) {
  TestModel m;
  m.floats("v", {2}, {2, 3});
  m.floats("w", {2}, {4, 5});
  m.input("x", {2});
  m.node("Mul", {"v", "w"}, {"a"});
  m.node("Add", {"a", "x"}, {"y"});
  m.output("y");
  for (const bool kept : {false, true}) {
    const Module module =
        imported(m, keeping(kept ? std::set<std::string>{"v"} : std::set<std::string>{}));
    const relay::Function& main = module.functions.at("main");
    std::size_t calls = 0;
    for (std::uint32_t i = 0; i < main.num_nodes(); ++i) {
      calls += main.op(relay::NodeId(i)) != nullptr ? 1 : 0;
    }
    EXPECT_EQ(calls, kept ? 2u : 1u);
  }
}

// Before IR version 4 initializers had to be inputs as well.
TEST(KeptWeights, MayBeDeclaredAsInputs) {
  TestModel m = clipped();
  m.input("w", {2});
  EXPECT_EQ(params_of(imported(m, keeping({"w"}))), (Names{"x", "w"}));
}

TestModel resized() {
  TestModel m;
  m.input("x", {1, 1, 2, 2});
  m.floats("scales", {4}, {1, 1, 2, 2});
  m.node("Resize", {"x", "", "scales"}, {"y"}, "resize");
  m.output("y");
  return m;
}

TEST(KeptWeights, ValuesThatTheImportNeedsAreNoWeights) {
  const Module module = imported(resized(), keeping({}, true));
  EXPECT_EQ(params_of(module), Names{"x"});
  EXPECT_EQ(kept_in(module), Names{});
}

TEST(KeptWeights, ButCannotBeKeptByName) {
  TestModel m = resized();
  m.node("Reshape", {"y", "shape"}, {"z"}, "flat");
  m.ints("shape", {-1});
  expect_refused(m.import(keeping({"scales"})), {{Code::kUnsupportedOnnxNode, "resize", "Resize"}});
}

TEST(KeptWeights, NamesThatTheModelDoesNotHave) {
  expect_refused(clipped().import(keeping({"w", "weight"})),
                 {{Code::kBadOption, "", "--keep-weights weight: the model's graph has no"}});
}

}  // namespace
}  // namespace tessera::import
