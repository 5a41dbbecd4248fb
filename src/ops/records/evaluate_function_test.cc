// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/evaluate_function.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ops/evaluation/compare.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/text/parse.h"

namespace tessera::ops {
namespace {

Module parse(const std::string& text) {
  const auto file =
      std::make_shared<SourceFile>(SourceFile{"test", "#[version = \"0.0.5\"]\n" + text});
  auto parsed = relay::parse_text(file, operators());
  if (!parsed) throw std::runtime_error(render(parsed.error()));
  Module module;
  module.functions = std::move(parsed->functions);
  auto inferred = infer_types(std::move(module));
  if (!inferred) throw std::runtime_error(render(inferred.error()));
  return std::move(*inferred);
}

Tensor pair(float a, float b) { return Tensor::of<float>({2}, kFloat32, {a, b}); }
Tensor truth(bool value) { return tensor_from_ints({}, kBool, std::vector<std::int64_t>{value}); }

std::vector<Tensor> evaluate_main(const Module& module, const std::vector<Tensor>& inputs,
                                  const GlobalCall& call = {}) {
  return evaluate(module, module.functions.at("main"), inputs, call);
}

using Tensors = std::vector<Tensor>;

TEST(EvaluateFunction, NestedTuplesAreFlatInBothDirections) {
  const Module module = parse(R"(
def @main(%t: (Tensor[(2), float32], (Tensor[(2), float32], Tensor[(2), float32])), %z: Tensor[(2), float32]) {
  %0 = %t.1;
  %1 = %0.1;
  %2 = (%z, %0);
  %3 = %2.1;
  (%1, %3, add(%3.0, %z))
})");
  EXPECT_EQ(evaluate_main(module, {pair(1, 2), pair(3, 4), pair(5, 6), pair(7, 8)}),
            (Tensors{pair(5, 6), pair(3, 4), pair(5, 6), pair(10, 12)}));
}

TEST(EvaluateFunction, ALiteralIsEnteredAtEachOfItsCallsAndSeesWhatIsAround) {
  const Module module = parse(R"(
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %f = fn (%a: Tensor[(2), float32]) { let %b = add(%a, %y); multiply(%b, %b) };
  %0 = %f(%x);
  %1 = %f(%0);
  (%0, %1)
})");
  EXPECT_EQ(evaluate_main(module, {pair(1, 2), pair(1, 0)}), (Tensors{pair(4, 4), pair(25, 16)}));
}

// Both branches call the function again: without an end if more than the one taken were evaluated.
constexpr const char* kRecursion = R"(
def @main(%x: Tensor[(2), float32], %more: Tensor[(), bool]) -> Tensor[(2), float32] {
  if (%more) {
    @main(negative(%x), False)
  } else {
    let %y = add(%x, %x);
    @last(%y)
  }
}
def @last(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { abs(%x) }
)";

TEST(EvaluateFunction, OnlyTheBranchThatIsTaken) {
  const Module module = parse(kRecursion);
  EXPECT_EQ(evaluate_main(module, {pair(-1, 2), truth(true)}), Tensors{pair(2, 4)});
  EXPECT_EQ(evaluate_main(module, {pair(-1, 2), truth(false)}), Tensors{pair(2, 4)});
}

TEST(EvaluateFunction, CallsOfGlobalsCanBeAnswered) {
  const Module module = parse(kRecursion);
  const GlobalCall call = [](const std::string& symbol,
                             std::span<const Tensor> arguments) -> std::optional<Tensors> {
    if (symbol != "last") return std::nullopt;
    return Tensors{arguments[0]};
  };
  EXPECT_EQ(evaluate_main(module, {pair(-1, 2), truth(true)}, call), Tensors{pair(2, -4)});
}

TEST(EvaluateFunction, LongChainsNeedNoStack) {
  std::string text = "def @main(%x: Tensor[(2), float32]) {\n  %0 = negative(%x);\n";
  for (int i = 1; i < 90000; ++i) text += fmt::format("  %{} = negative(%{});\n", i, i - 1);
  const Module module = parse(text + "  %89999\n}\n");
  EXPECT_EQ(evaluate_main(module, {pair(1, 2)}), Tensors{pair(1, 2)});
}

TEST(EvaluateFunction, LoopsNeedNoStack) {
  const Module module = parse(R"(
def @main(%i: int32, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  if (less(%i, 100000)) {
    let %next = @main(add(%i, 1), negative(%x));
    %next
  } else {
    %x
  }
})");
  EXPECT_EQ(evaluate_main(module,
                          {tensor_from_ints({}, kInt32, std::vector<std::int64_t>{1}), pair(1, 2)}),
            Tensors{pair(-1, -2)});
}

TEST(Compare, DifferencesAreRelativeToTheLargestMagnitude) {
  EXPECT_EQ(relative_difference(pair(1, 100), pair(1, 100)), 0);
  EXPECT_NEAR(relative_difference(pair(2, 100), pair(1, 100)), 0.01, 1e-12);
  EXPECT_EQ(relative_difference(pair(NAN, INFINITY), pair(NAN, INFINITY)), 0);
  EXPECT_EQ(relative_difference(pair(1, INFINITY), pair(1, 2)), INFINITY);
  EXPECT_EQ(relative_difference(pair(1, 2), pair(1, -INFINITY)), INFINITY);
  EXPECT_EQ(relative_difference(pair(1, 2), pair(1, NAN)), INFINITY);
  EXPECT_EQ(relative_difference(truth(true), pair(1, 2)), INFINITY);
}

TEST(Compare, TheFirstElementThatDiffersIsNamed) {
  EXPECT_EQ(first_difference(pair(1, 100.05f), pair(1, 100), 1e-3), "");
  EXPECT_EQ(first_difference(pair(1.5f, 3), pair(1, 2), 1e-3), "element 0: 1.5 instead of 1");
  EXPECT_EQ(first_difference(pair(1, 2), pair(1, INFINITY), 1e-3), "element 1: 2 instead of inf");
  EXPECT_EQ(first_difference(pair(NAN, -INFINITY), pair(NAN, -INFINITY), 0), "");
  EXPECT_EQ(first_difference(truth(true), truth(false), 10), "element 0: 1 instead of 0");
  EXPECT_EQ(first_difference(truth(true), pair(1, 2), 10), "bool instead of Tensor[(2), float32]");
}

}  // namespace
}  // namespace tessera::ops
