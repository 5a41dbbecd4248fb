// SPDX-License-Identifier: Apache-2.0
// Branches and loops of host programs: their text, and that they compute what `eval` does.
#include <gtest/gtest.h>

#include "lower/main.h"
#include "lower/testing/host_run.h"
#include "lower/testing/tensors.h"
#include "lower/testing/text.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/testing/golden.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::lower {
namespace {

using testing::truth;

// `main` of the text on random inputs; conditions among them take all values.
void expect_like_eval(const std::string& text, const std::string& golden = {}) {
  const Module module = testing::module_of(text);
  auto lowered = lower(module);
  ASSERT_TRUE(lowered) << render(lowered.error());
  const Module program = hoist_allocations(std::move(*lowered));
  const tir::PrimFunc& host = program.prim_funcs.at("main");
  for (const auto& [name, f] : program.prim_funcs) {
    const auto valid = tir::verify(f, name);
    ASSERT_TRUE(valid) << render(valid.error()) << tir::print(f, name);
  }
  if (!golden.empty()) {
    tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/src/lower/testdata/" + golden,
                                    tir::print(host, "main"));
  }
  const relay::Function& main = module.functions.at("main");
  std::vector<Tensor> inputs = testing::inputs_of(main, 3);
  for (unsigned choice = 0; choice < 4; ++choice) {
    unsigned bit = 0;
    for (Tensor& t : inputs) {
      if (t.dtype == kBool && t.is_scalar()) t = truth((choice >> bit++ & 1U) != 0);
    }
    testing::expect_close(ops::evaluate(module, main, inputs),
                          testing::HostRun(program, inputs).outputs(), tir::print(host, "main"));
  }
}

std::string refusal(const std::string& text) {
  const auto lowered = lower(testing::module_of(text));
  return lowered ? std::string() : render(lowered.error());
}

TEST(LowerIf, EachBranchWritesTheResult) {
  expect_like_eval(
      "def @main(%c: bool, %x: Tensor[(4), float32], %y: Tensor[(4), float32]) {\n"
      "  %0 = multiply(%x, %y);\n"
      "  %1 = if (%c) { %2 = add(%0, %x); tanh(%2) } else { exp(%y) };\n"
      "  add(%1, %0)\n}\n",
      "if.tir");
}

TEST(LowerIf, BranchesReturnWhatIsThereAlready) {
  // A parameter, a constant, an outer value, one value twice, a tuple within a tuple.
  expect_like_eval(
      "def @main(%c: bool, %d: bool, %x: Tensor[(3), float32]) {\n"
      "  %0 = exp(%x);\n"
      "  %1 = if (%c) { %2 = tanh(%x); (%2, (%2, %x)) } else { (%0, (%x, %0)) };\n"
      "  %3 = %1.1;\n"
      "  %4 = if (%d) { 2f } else { max(%x, axis=[0]) };\n"
      "  (%1.0, %3.0, %3.1, %4, %0)\n}\n",
      "if_results.tir");
}

TEST(LowerIf, TheResultOfTheFunctionIsThatOfABranch) {
  expect_like_eval(
      "def @main(%c: bool, %d: bool, %x: Tensor[(2, 3), float32]) {\n"
      "  if (%c) {\n"
      "    if (%d) { reshape(exp(%x), newshape=[6]) } else { reshape(%x, newshape=[6]) }\n"
      "  } else {\n"
      "    %0 = reshape(%x, newshape=[6]); tanh(%0)\n"
      "  }\n}\n",
      "if_nested.tir");
}

TEST(LowerIf, ABranchUsesViewsAndKernelsOfItsOwn) {
  expect_like_eval(
      "def @main(%c: bool, %x: Tensor[(2, 3), float32]) {\n"
      "  %0 = exp(%x);\n"
      "  %1 = if (%c) { nn.softmax(reshape(%0, newshape=[3, 2])) }\n"
      "       else { transpose(%0, axes=[1, 0]) };\n"
      "  (reshape(%1, newshape=[6]), reshape(%0, newshape=[6]))\n}\n");
}

TEST(LowerIf, FunctionsAndLiteralsAreEnteredInPlace) {
  expect_like_eval(
      "def @twice(%a: Tensor[(3), float32]) -> Tensor[(3), float32] { add(%a, %a) }\n"
      "def @main(%c: bool, %x: Tensor[(3), float32], %y: Tensor[(3), float32]) {\n"
      "  let %f = fn (%a: Tensor[(3), float32]) { multiply(%a, %y) };\n"
      "  %0 = if (%c) { @twice(%f(%x)) } else { %f(@twice(%y)) };\n"
      "  (%0, @twice(%x))\n}\n");
}

constexpr const char* kPowers =
    "def @powers(%i: int64, %p: Tensor[(3), float32], %x: Tensor[(3), float32],"
    " %rows: Tensor[(4, 3), float32]) -> (Tensor[(3), float32], Tensor[(4, 3), float32]) {\n"
    "  if (less(%i, 4i64)) {\n"
    "    %0 = multiply(%p, %x);\n"
    "    @powers(add(%i, 1i64), %0, %x, update_row(%rows, %0, %i))\n"
    "  } else { (%p, %rows) }\n}\n"
    "def @main(%x: Tensor[(3), float32]) {\n"
    "  @powers(0i64, %x, %x, zeros(shape=[4, 3], dtype=\"float32\"))\n}\n";

TEST(LowerLoop, RowsAreWrittenInPlaceAndWhatStaysIsNotCopied) {
  expect_like_eval(kPowers, "loop.tir");
}

TEST(LowerLoop, CarriedValuesMayChangePlaces) {
  expect_like_eval(
      "def @turn(%i: int64, %a: Tensor[(2), float32], %b: Tensor[(2), float32],"
      " %c: Tensor[(2), float32]) -> (Tensor[(2), float32], Tensor[(2), float32],"
      " Tensor[(2), float32]) {\n"
      "  if (less(%i, 4i64)) { @turn(add(%i, 1i64), %b, %c, %a) } else { (%a, %b, %c) }\n}\n"
      "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32], %z: Tensor[(2), float32]) {\n"
      "  (@turn(0i64, %x, %y, %z), %x)\n}\n");
}

TEST(LowerLoop, OneNewValueForTwoCarriedOnesAndOldOnesReadLate) {
  expect_like_eval(
      "def @f(%i: int64, %a: Tensor[(2), float32], %b: Tensor[(2), float32])"
      " -> (Tensor[(2), float32], Tensor[(2), float32]) {\n"
      "  if (less(%i, 3i64)) {\n"
      "    %0 = tanh(%b);\n    %1 = add(%0, %a);\n    %2 = multiply(%b, %1);\n"
      "    @f(add(%i, 1i64), %2, %2)\n  } else { (%b, %a) }\n}\n"
      "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { @f(0i64, %x, %y) }\n");
}

TEST(LowerLoop, RowsThatAreReadInTheLoopAreCopied) {
  expect_like_eval(
      "def @f(%i: int64, %rows: Tensor[(4, 2), float32]) -> Tensor[(4, 2), float32] {\n"
      "  if (less(%i, 3i64)) {\n"
      "    %0 = take(%rows, %i, axis=0);\n    %1 = add(%0, 1f);\n    %2 = add(%i, 1i64);\n"
      "    %3 = update_row(%rows, %1, %2);\n    %4 = add(%3, %rows);\n    @f(%2, %4)\n"
      "  } else { %rows }\n}\n"
      "def @main(%x: Tensor[(4, 2), float32]) { @f(0i64, %x) }\n");
}

TEST(LowerLoop, SeveralEndsAndSeveralWaysRound) {
  expect_like_eval(
      "def @f(%i: int64, %c: bool, %a: Tensor[(2), float32]) -> Tensor[(2), float32] {\n"
      "  %0 = add(%i, 1i64);\n"
      "  if (less(%i, 6i64)) {\n"
      "    if (%c) { @f(%0, logical_not(%c), add(%a, 2f)) }\n"
      "    else { if (less(%i, 3i64)) { @f(%0, logical_not(%c), multiply(%a, 3f)) }"
      " else { exp(%a) } }\n"
      "  } else { %a }\n}\n"
      "def @main(%c: bool, %x: Tensor[(2), float32]) { @f(0i64, %c, %x) }\n");
}

TEST(LowerLoop, LoopsInLoopsAndInBranches) {
  expect_like_eval(
      "def @inner(%j: int64, %n: int64, %a: Tensor[(2), float32]) -> Tensor[(2), float32] {\n"
      "  if (less(%j, %n)) { @inner(add(%j, 1i64), %n, add(%a, 1f)) } else { %a }\n}\n"
      "def @outer(%i: int64, %a: Tensor[(2), float32], %c: bool) -> Tensor[(2), float32] {\n"
      "  if (less(%i, 3i64)) {\n"
      "    %0 = if (%c) { @inner(0i64, %i, %a) } else { multiply(%a, 2f) };\n"
      "    @outer(add(%i, 1i64), %0, %c)\n"
      "  } else { @inner(1i64, %i, %a) }\n}\n"
      "def @main(%c: bool, %x: Tensor[(2), float32]) { @outer(0i64, %x, %c) }\n");
}

TEST(LowerLoop, RecursionThatIsNoLoopIsRefusedByName) {
  EXPECT_NE(refusal("def @f(%c: bool, %x: float32) -> float32 {\n"
                    "  if (%c) { %0 = @f(%c, %x); add(%0, 1f) } else { %x }\n}\n"
                    "def @main(%c: bool, %x: float32) { @f(%c, %x) }\n")
                .find("`@f` calls itself, and the call's result is not at once its own"),
            std::string::npos);
  EXPECT_NE(refusal("def @f(%c: bool, %x: float32) -> float32 {\n"
                    "  if (%c) { @g(%c, %x) } else { %x }\n}\n"
                    "def @g(%c: bool, %x: float32) -> float32 { @f(%c, add(%x, 1f)) }\n"
                    "def @main(%c: bool, %x: float32) { @f(%c, %x) }\n")
                .find("`@f` calls itself through `@g`"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::lower
