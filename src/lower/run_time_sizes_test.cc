// SPDX-License-Identifier: Apache-2.0
// Host programs that find sizes as they run: their text, and that they compute what `eval` does.
#include "lower/main.h"
#include "lower/testing/host_run.h"
#include "lower/testing/tensors.h"
#include "lower/testing/text.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/testing/golden.h"
#include "tir/parse.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::lower {
namespace {

using testing::floats;
using testing::HostRun;
using testing::numbers;
using testing::truth;

class HostProgramSizes : public ::testing::Test {
 protected:
  void lower_text(const std::string& text) {
    module_ = testing::module_of(text);
    auto lowered = lower(module_);
    ASSERT_TRUE(lowered) << render(lowered.error());
    program_ = hoist_allocations(std::move(*lowered));
    for (const auto& [name, f] : program_.prim_funcs) {
      const std::string printed = tir::print(f, name);
      const auto valid = tir::verify(f, name);
      ASSERT_TRUE(valid) << render(valid.error()) << printed;
      const auto again = tir::parse_prim_func(printed);
      ASSERT_TRUE(again) << render(again.error()) << printed;
      EXPECT_EQ(tir::print(*again, name), printed);
    }
  }

  std::string host_text() const { return tir::print(program_.prim_funcs.at("main"), "main"); }

  // The first result has this shape, and all are right.
  void expect_shape(const std::vector<Tensor>& inputs, const std::vector<std::int64_t>& shape) {
    const relay::Function& main = module_.functions.at("main");
    const std::vector<Tensor> wanted = ops::evaluate(module_, main, inputs);
    const std::vector<Tensor> found = HostRun(program_, inputs).outputs();
    EXPECT_EQ(found.at(0).shape, shape);
    testing::expect_close(wanted, found, host_text());
  }

  std::string failure(const std::vector<Tensor>& inputs) {
    try {
      HostRun run(program_, inputs);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "";
  }

  Module module_, program_;
};

// No element is computed that would need the size.
TEST_F(HostProgramSizes, ASumOfNothingWithWhatDataSizes) {
  lower_text(
      "def @main(%x: Tensor[(0, 0), float32], %y: Tensor[(0, 2), int32]) {\n"
      "  add(%y, argwhere(%x))\n}\n");
  expect_shape({floats({0, 0}, {}), tensor_from_ints({0, 2}, kInt32, std::vector<std::int64_t>{})},
               {0, 2});
}

TEST_F(HostProgramSizes, ASliceHasAStep) {
  lower_text(
      "def @main(%x: Tensor[(6), float32], %b: Tensor[(1), int64], %e: Tensor[(1), int64],\n"
      "          %s: Tensor[(1), int64]) {\n  dyn.strided_slice(%x, %b, %e, %s)\n}\n");
  const Tensor x = floats({6}, {1, 2, 3, 4, 5, 6});
  const auto slice = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    const HostRun run(program_,
                      {x, numbers({1}, {begin}), numbers({1}, {end}), numbers({1}, {step})});
    return run.outputs().at(0);
  };
  testing::expect_close({floats({3}, {2, 4, 6})}, {slice(1, 6, 2)}, host_text());
  testing::expect_close({floats({3}, {6, 4, 2})}, {slice(5, 0, -2)}, host_text());
  EXPECT_NE(failure({x, numbers({1}, {1}), numbers({1}, {6}), numbers({1}, {0})})
                .find("does not fit its operands"),
            std::string::npos);
}

// What is read at a place that it gives itself has no memory of its own.
TEST_F(HostProgramSizes, ATensorIsAnIndexIntoItself) {
  lower_text("def @main(%x: Tensor[(?n), uint16]) { %0 = copy(%x); gather(%0, %0, axis=0) }\n");
  expect_shape({tensor_from_ints({4}, kUInt16, std::vector<std::int64_t>{3, 0, 1, 2})}, {4});
  lower_text(
      "def @main(%x: Tensor[(?n), int64]) {\n"
      "  %0 = add(%x, 1i64);\n  gather(%0, gather(%0, %0, axis=0), axis=0)\n}\n");
  expect_shape({numbers({5}, {-1, 3, 0, 2, 1})}, {5});
}

TEST_F(HostProgramSizes, AReshapeToAListOfTheInputs) {
  lower_text(
      "def @main(%x: Tensor[(6), float32], %s: Tensor[(2), int64]) {\n"
      "  nn.relu(dyn.reshape(negative(%x), %s))\n}\n");
  tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/src/lower/testdata/run_time_reshape.tir",
                                  host_text());
  const Tensor x = floats({6}, {-1, 2, -3, 4, -5, 6});
  expect_shape({x, numbers({2}, {2, 3})}, {2, 3});
  expect_shape({x, numbers({2}, {-1, 1})}, {6, 1});
  // The last are 6 again in 64 bits.
  for (const auto& wrong : {numbers({2}, {4, 2}), numbers({2}, {-1, -1}), numbers({2}, {-3, -2}),
                            numbers({2}, {11, 1676976733973595602})}) {
    EXPECT_NE(failure({x, wrong}).find("does not fit its operands"), std::string::npos);
  }
}

TEST_F(HostProgramSizes, PlacesOfWhatIsTrueAndWhatIsMadeOfThem) {
  lower_text(
      "def @main(%x: Tensor[(2, 3), float32]) {\n"
      "  %0 = argwhere(%x);\n"
      "  %1 = exp(cast(add(%0, %0), dtype=\"float32\"));\n"
      "  (%1, %0, %x, sum(%1, axis=[0]))\n}\n");
  expect_shape({floats({2, 3}, {0, 1, 0, 0, 0, 2})}, {2, 2});
  expect_shape({floats({2, 3}, {0, 0, 0, 0, 0, 0})}, {0, 2});
  expect_shape({floats({2, 3}, {1, 2, 3, 4, 5, 6})}, {6, 2});
}

TEST_F(HostProgramSizes, ABranchDecidesTheSize) {
  lower_text(
      "def @main(%c: bool, %x: Tensor[(6), float32], %n: float32) {\n"
      "  %2 = if (%c) {\n"
      "    exp(arange(0f, %n, 1f))\n"
      "  } else {\n"
      "    %1 = arange(0f, %n, 0.5f);\n    concatenate((%1, %x))\n"
      "  };\n"
      "  (add(%2, %2), %n)\n}\n");
  tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/src/lower/testdata/run_time_if.tir",
                                  host_text());
  const Tensor x = floats({6}, {1, 2, 3, 4, 5, 6});
  expect_shape({truth(true), x, floats({}, {3})}, {3});
  expect_shape({truth(false), x, floats({}, {3})}, {12});
  expect_shape({truth(false), x, floats({}, {0})}, {6});
}

TEST_F(HostProgramSizes, ACarriedValueGrows) {
  lower_text(std::string(testing::kGrowingLoop) +
             "def @main(%x: Tensor[(1, 2), float32], %n: int64) { @grow(0i64, %n, %x, %x) }\n");
  tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/src/lower/testdata/run_time_loop.tir",
                                  host_text());
  const Tensor x = floats({1, 2}, {1, 2});
  const auto n = [](std::int64_t value) { return numbers({}, {value}); };
  expect_shape({x, n(0)}, {1, 2});
  expect_shape({x, n(1)}, {1, 2});
  expect_shape({x, n(4)}, {5, 2});
}

// What a view shows may be computed in the caller's memory only where its size is checked before.
TEST_F(HostProgramSizes, AViewIsCheckedBeforeWhatItShowsIsWritten) {
  for (const char* producer :
       {"nn.softmax(%x)", "exp(%x)", "nn.matmul(%x, %x, units=None, transpose_b=True)"}) {
    lower_text(
        fmt::format("def @main(%x: Tensor[(?n, ?m), float32]) {{\n"
                    "  reshape({}, newshape=[1, 2, 2])\n}}\n",
                    producer));
    expect_shape({floats({2, 2}, {1, 2, 3, 4})}, {1, 2, 2});
    EXPECT_NE(
        failure({floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}).find("numbers of elements differ: "),
        std::string::npos)
        << host_text();
    EXPECT_LT(host_text().find("sizesof_reshape"), host_text().rfind("call_kernel"));
  }
}

TEST_F(HostProgramSizes, AViewInABranchIsCheckedBeforeItsBytesReachTheResult) {
  lower_text(
      "def @main(%c: bool, %x: Tensor[(?n), float32], %y: Tensor[(2, 2), float32]) {\n"
      "  if (%c) { reshape(exp(%x), newshape=[2, 2]) } else { %y }\n}\n");
  const Tensor y = floats({2, 2}, {5, 6, 7, 8});
  expect_shape({truth(true), floats({4}, {1, 2, 3, 4}), y}, {2, 2});
  expect_shape({truth(false), floats({7}, {1, 2, 3, 4, 5, 6, 7}), y}, {2, 2});
  EXPECT_NE(failure({truth(true), floats({7}, {1, 2, 3, 4, 5, 6, 7}), y})
                .find("numbers of elements differ: "),
            std::string::npos)
      << host_text();
}

TEST_F(HostProgramSizes, AViewOfWhatTheRunSizesIsCheckedBeforeItsBytesReachTheResult) {
  lower_text(
      "def @main(%x: Tensor[(4), float32]) {\n"
      "  reshape(negative(argwhere(%x)), newshape=[2])\n}\n");
  expect_shape({floats({4}, {0, 1, 0, 1})}, {2});
  EXPECT_NE(failure({floats({4}, {1, 1, 1, 1})}).find("numbers of elements differ: "),
            std::string::npos)
      << host_text();
}

TEST_F(HostProgramSizes, WhatTheModelSaysOfADataDependentSizeIsChecked) {
  lower_text(
      "def @main(%x: Tensor[(6), float32], %b: Tensor[(1), int64], %e: Tensor[(1), int64],\n"
      "          %s: Tensor[(1), int64]) {\n"
      "  let %y: Tensor[(2), float32] = dyn.strided_slice(%x, %b, %e, %s);\n"
      "  exp(%y)\n}\n");
  const Tensor x = floats({6}, {1, 2, 3, 4, 5, 6}), one = numbers({1}, {1});
  expect_shape({x, numbers({1}, {3}), numbers({1}, {5}), one}, {2});
  EXPECT_NE(failure({x, numbers({1}, {5}), numbers({1}, {9}), one}), "");
}

TEST_F(HostProgramSizes, BroadcastSizesAreEqualOrOne) {
  lower_text(
      "#[symbol a = 0..]\n#[symbol b = 0..]\n"
      "def @main(%x: Tensor[(?a), float32], %y: Tensor[(?b), float32],\n"
      "          %z: Tensor[(3), float32]) {\n"
      "  (tanh(add(%x, %y)), multiply(%x, %z))\n}\n");
  const Tensor one = floats({1}, {2}), three = floats({3}, {1, 2, 3}),
               four = floats({4}, {1, 2, 3, 4});
  expect_shape({three, three, three}, {3});
  expect_shape({one, four, three}, {4});
  expect_shape({three, one, three}, {3});
  expect_shape({one, floats({0}, {}), three}, {0});
  EXPECT_NE(failure({three, four, three}).find("in dimension 0"), std::string::npos);
  EXPECT_NE(failure({four, four, three}).find("in dimension 0"), std::string::npos);
}

}  // namespace
}  // namespace tessera::lower
