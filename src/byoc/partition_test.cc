// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "byoc/compiler_functions.h"
#include "byoc/placer.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/testing/text.h"
#include "relay/verify.h"

namespace tessera::byoc {
namespace {

using passes::testing::module_of;
using relay::is_op;
using relay::Match;
using relay::wildcard;
using Names = std::vector<std::string>;

// Takes the operators it is told to, and has them refused or declined at a stage of choice.
class Fake final : public Backend {
 public:
  std::string title = "onednn";
  std::vector<std::string> unary;
  FusionStyle style = FusionStyle::kAnyConvex;
  std::string refuses;            // an operator: in the check
  std::string pair;               // an operator: with abs after it, which is refused
  std::size_t largest = 1000000;  // region, in operators: in validate
  std::string declines;           // an operator: in compile
  std::string lacks;              // the library
  bool embeds = true;             // constants
  bool scales = false;            // a product with a constant, which is part of the composite

  std::string_view name() const override { return title; }
  std::optional<Refusal> available(const Target&) const override {
    if (lacks.empty()) return std::nullopt;
    return Refusal{lacks};
  }
  std::vector<CompositePattern> patterns(const Target&) const override {
    std::vector<CompositePattern> out;
    const auto check = [this](const Match& m, const Target&) -> std::optional<Refusal> {
      if (m.function->op(m.root)->name != refuses) return std::nullopt;
      return Refusal{"not today"};
    };
    if (!pair.empty()) {
      out.push_back({title + ".pair", is_op("abs", {is_op(pair, {wildcard()})}),
                     [](const Match&, const Target&) { return Refusal{"not as a pair"}; }});
    }
    for (const std::string& op : unary)
      out.push_back({title + "." + op, is_op(op, {wildcard()}), check});
    out.push_back({title + ".add", is_op("add", {wildcard(), wildcard()}), check});
    if (scales) {
      out.push_back(
          {title + ".scale", is_op("multiply", {wildcard(), relay::is_constant()}), check});
    }
    return out;
  }
  std::optional<Refusal> validate(const relay::Function& region, const Target&) const override {
    if (operators_of(region).size() <= largest) return std::nullopt;
    return Refusal{"too large"};
  }
  FusionStyle fusion_style() const override { return style; }
  ConstantStyle constants() const override {
    return embeds ? ConstantStyle::kEmbedded : ConstantStyle::kArguments;
  }
  Result<CompileOutcome> compile(Module module, const Target&, CompileContext&) const override {
    CompileOutcome out;
    for (const std::string& symbol : compiler_functions(module, title)) {
      const auto operators = operators_of(module.functions.at(symbol));
      if (std::find(operators.begin(), operators.end(), declines) != operators.end()) {
        out.declined.push_back({symbol, error(Code::kBackendFailed, {}, "cannot do {}", declines)});
      } else {
        make_extern(module, symbol, Artifact{}, {});
      }
    }
    out.module = std::move(module);
    return out;
  }
};

class NoToolchain final : public Toolchain {
 public:
  Result<Names> compile(std::span<const CompileJob>) override { return Names{}; }
  Result<std::string> archive(std::span<const std::string>) override { return std::string(); }
  std::string identity() const override { return "none"; }
};

BackendChoice choice(const Fake& backend) { return {&backend, Target("onednn")}; }

PartitionOutcome partition(const std::string& text, std::vector<BackendChoice> choices) {
  auto outcome = partition_greedy(module_of(text), choices);
  EXPECT_TRUE(outcome) << render(outcome.error());
  // What comes out is a well-formed and well-typed module.
  for (const auto& [name, f] : outcome->module.functions) {
    const Diagnostics found = relay::verify(f);
    EXPECT_TRUE(found.empty()) << render(found);
  }
  auto inferred = ops::infer_types(outcome->module);
  EXPECT_TRUE(inferred) << render(inferred.error());
  return std::move(*outcome);
}

std::vector<Names> operators_by_region(const PartitionOutcome& outcome) {
  std::vector<Names> out;
  for (const PlacedRegion& r : outcome.regions) out.push_back(r.operators);
  return out;
}

constexpr const char* kDiamond = R"(
def @main(%x: Tensor[(4), float32]) {
  %0 = abs(%x);
  %1 = cos(%0);
  %2 = abs(%1);
  %3 = abs(%0);
  %4 = add(%2, %3);
  add(%4, %0)
})";

TEST(PartitionGreedy, LeavesNoCycleBetweenRegions) {
  Fake backend;
  backend.unary = {"abs"};
  const auto outcome = partition(kDiamond, {choice(backend)});
  // %0 cannot join %4: the way over cos leads out and back in. %3 goes with either.
  EXPECT_EQ(operators_by_region(outcome),
            (std::vector<Names>{{"abs", "abs"}, {"abs", "add", "add"}}));
  EXPECT_EQ(outcome.regions[0].symbol, "onednn_main_0");
}

TEST(PartitionGreedy, GivesEachCompositeAFunctionWhereTheBackEndWantsIt) {
  Fake backend;
  backend.unary = {"abs"};
  backend.style = FusionStyle::kOneComposite;
  EXPECT_EQ(partition(kDiamond, {choice(backend)}).regions.size(), 5u);
}

// The nodes that mention one constant are one to patterns, which know it by the first: here by one
// in a function literal or in a branch, which the sum and the product do not see.
TEST(PartitionGreedy, AConstantIsReadWhereItsFirstMentionIsNotSeen) {
  constexpr const char* kLiteral = R"(
  %0 = fn (%a: Tensor[(3), float32], Primitive=1) { subtract(%a, meta[relay.Constant][0]) };
  %1 = %0(%x);)";
  constexpr const char* kBranch = R"(
  %1 = if (%c) { subtract(%x, meta[relay.Constant][0]) } else { cos(%x) };)";
  for (const char* first : {kLiteral, kBranch}) {
    for (const bool embeds : {true, false}) {
      Fake backend;
      backend.embeds = embeds;
      backend.scales = true;
      const auto outcome =
          partition(std::string("def @main(%x: Tensor[(3), float32], %c: bool) {") + first + R"(
  multiply(add(%1, meta[relay.Constant][0]), meta[relay.Constant][0])
}
#[metadata]
{"root": 1, "nodes": [{}, {"keys": ["relay.Constant"], "data": [2]}, {"data": [3]},
 {"attrs": {"data": "0", "virtual_device_": "0"}}], "attrs": {}, "b64ndarrays": [
 "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQADAAAAAAAAAAwAAAAAAAAAAACAPwAAAEAAAEBA"]})",
                    {choice(backend)});
      EXPECT_EQ(operators_by_region(outcome), (std::vector<Names>{{"add", "multiply"}}));
    }
  }
}

// The number of changes of back end differs along the two ways into the sum, yet no way leads
// around: one region.
TEST(PartitionGreedy, MergesNeighboursOfDifferentDepth) {
  Fake backend;
  backend.unary = {"abs"};
  const auto outcome = partition(R"(
def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
  %0 = abs(%x);
  %1 = cos(%y);
  %2 = abs(%1);
  add(%0, %2)
})",
                                 {choice(backend)});
  EXPECT_EQ(operators_by_region(outcome), (std::vector<Names>{{"abs", "abs", "add"}}));
}

TEST(PartitionGreedy, SaysWhyAndAsksTheNext) {
  Fake first, second;
  first.unary = second.unary = {"abs", "cos"};
  first.refuses = "cos";
  second.title = "blas";
  const auto outcome = partition(kDiamond, {choice(first), {&second, Target("blas")}});
  ASSERT_EQ(outcome.refusals.size(), 1u);
  EXPECT_EQ(outcome.refusals[0].op, "cos");
  EXPECT_EQ(outcome.refusals[0].reason, "not today");
  EXPECT_EQ(outcome.refusals[0].taken_by, "blas");
}

// A composite is refused, and its root goes to a smaller one: the reason is that of what is left.
TEST(PartitionGreedy, SaysWhyOfWhatASmallerCompositeLeaves) {
  const char* const model = "def @main(%x: Tensor[(4), float32]) { abs(cos(%x)) }";
  Fake backend;
  backend.pair = "cos";
  backend.unary = {"abs"};
  const auto outcome = partition(model, {choice(backend)});
  EXPECT_EQ(operators_by_region(outcome), (std::vector<Names>{{"abs"}}));
  ASSERT_EQ(outcome.refusals.size(), 1u);
  EXPECT_EQ(outcome.refusals[0].op, "cos");
  EXPECT_EQ(outcome.refusals[0].reason, "not as a pair");
  EXPECT_EQ(outcome.refusals[0].taken_by, "native");

  backend.unary = {"abs", "cos"};  // nothing is left
  EXPECT_TRUE(partition(model, {choice(backend)}).refusals.empty());
}

TEST(PartitionGreedy, GivesBackRegionsThatDoNotValidate) {
  Fake backend;
  backend.unary = {"abs"};
  backend.largest = 2;
  const auto outcome = partition(kDiamond, {choice(backend)});
  EXPECT_EQ(operators_by_region(outcome), (std::vector<Names>{{"abs", "abs"}}));
  ASSERT_FALSE(outcome.refusals.empty());
  EXPECT_EQ(outcome.refusals[0].reason, "too large");
  EXPECT_EQ(outcome.refusals[0].taken_by, "native");
}

TEST(PartitionGreedy, PassesByABackEndWithoutItsLibrary) {
  Fake backend;
  backend.lacks = "libx.so was not found";
  const auto outcome = partition(kDiamond, {choice(backend)});
  EXPECT_TRUE(outcome.regions.empty());
  ASSERT_EQ(outcome.refusals.size(), 1u);
  EXPECT_EQ(outcome.refusals[0].reason, "libx.so was not found");
}

TEST(PartitionGreedy, TakesLongChainsInStride) {
  std::string text = "def @main(%x: Tensor[(4), float32]) {\n  %0 = abs(%x);\n";
  for (int i = 1; i < 5000; ++i) text += fmt::format("  %{} = abs(%{});\n", i, i - 1);
  Fake backend;
  backend.unary = {"abs"};
  const auto outcome = partition(text + "  abs(%4999)\n}", {choice(backend)});
  EXPECT_EQ(outcome.regions.size(), 1u);
}

TEST(CompileBackends, ReturnsWhatIsDeclinedToTheNext) {
  Fake first, second;
  first.unary = second.unary = {"abs", "cos"};
  first.declines = "cos";
  second.title = "blas";
  const BackendChoice choices[] = {choice(first), {&second, Target("blas")}};
  NoToolchain toolchain;
  CompileContext context{toolchain, 1, false, {}};
  auto placed = partition_greedy(module_of(kDiamond), choices);
  ASSERT_TRUE(placed);
  auto compiled = compile_backends(std::move(*placed), choices, context);
  ASSERT_TRUE(compiled) << render(compiled.error());
  ASSERT_EQ(compiled->regions.size(), 1u);
  EXPECT_EQ(compiled->regions[0].backend, "blas");
  EXPECT_EQ(compiled->module.externs.size(), 1u);
  EXPECT_EQ(context.warnings.size(), 1u);
  ASSERT_FALSE(compiled->refusals.empty());
  EXPECT_EQ(compiled->refusals[0].reason, "cannot do cos");
  EXPECT_TRUE(ops::infer_types(compiled->module));
}

// A pattern of two operators first, each of them alone after it: what is declined as a pair is
// given again in parts, and equal pairs are not.
TEST(CompileBackends, GivesPartsOfWhatIsDeclinedToTheSameBackEnd) {
  class Pairs final : public Backend {
   public:
    std::string_view name() const override { return "onednn"; }
    std::vector<CompositePattern> patterns(const Target&) const override {
      return {{"onednn.pair", is_op("cos", {is_op("abs", {wildcard()})}), nullptr},
              {"onednn.abs", is_op("abs", {wildcard()}), nullptr}};
    }
    Result<CompileOutcome> compile(Module module, const Target&, CompileContext&) const override {
      CompileOutcome out;
      for (const std::string& symbol : compiler_functions(module, "onednn")) {
        seen.push_back(operators_of(module.functions.at(symbol)));
        if (seen.back().size() > 1) {
          out.declined.push_back({symbol, error(Code::kBackendFailed, {}, "no pairs")});
        } else {
          make_extern(module, symbol, Artifact{}, {});
        }
      }
      out.module = std::move(module);
      return out;
    }
    mutable std::vector<Names> seen;
  };
  const Pairs backend;
  const BackendChoice choices[] = {{&backend, Target("onednn")}};
  NoToolchain toolchain;
  CompileContext context{toolchain, 1, false, {}};
  auto placed = partition_greedy(module_of(R"(
def @main(%x: Tensor[(4), float32]) {
  %0 = abs(%x);
  %1 = cos(%0);
  %2 = sin(%1);
  %3 = abs(%2);
  cos(%3)
})"),
                                 choices);
  ASSERT_TRUE(placed);
  auto compiled = compile_backends(std::move(*placed), choices, context);
  ASSERT_TRUE(compiled) << render(compiled.error());
  // Equal functions have one definition.
  EXPECT_EQ(backend.seen, (std::vector<Names>{{"abs", "cos"}, {"abs"}}));
  ASSERT_EQ(compiled->regions.size(), 2u);
  for (const PlacedRegion& region : compiled->regions) EXPECT_EQ(region.operators, Names{"abs"});
  ASSERT_FALSE(compiled->refusals.empty());
  EXPECT_EQ(compiled->refusals[0].reason, "no pairs");
  EXPECT_TRUE(ops::infer_types(compiled->module));
}

TEST(CompileBackends, StrictMakesItAnError) {
  Fake backend;
  backend.unary = {"abs", "cos"};
  backend.declines = "cos";
  const BackendChoice choices[] = {choice(backend)};
  NoToolchain toolchain;
  CompileContext context{toolchain, 1, true, {}};
  auto placed = partition_greedy(module_of(kDiamond), choices);
  ASSERT_TRUE(placed);
  const auto compiled = compile_backends(std::move(*placed), choices, context);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().list.front().message, "cannot do cos");
}

}  // namespace
}  // namespace tessera::byoc
