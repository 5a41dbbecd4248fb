// SPDX-License-Identifier: Apache-2.0
// One library for many shapes: what it computes equals the evaluation of the model with numbers for
// its symbols, by both executors.
#include "driver/testing/dynamic_shapes.h"

#include <algorithm>

#include "backends/table.h"
#include "lower/testing/text.h"
#include "support/testing/requirement.h"

namespace tessera::driver {
namespace {

using testing::DynamicShapes;
using testing::value_of;

// By the codes of reshape, by two sizes with names, and by such that may not fit.
constexpr const char* kReshapesByOwnSizes =
    "def @main(%x: Tensor[(?n, 6), float32], %y: Tensor[(?n, ?m), float32]) {\n"
    "  %0 = reshape(multiply(take(shape_of(%x, dtype=\"int64\"), 0i64), 2i64), newshape=[1]);\n"
    "  %1 = concatenate((%0, reshape(3i64, newshape=[1])));\n"
    "  %2 = concatenate((reshape(take(shape_of(%y, dtype=\"int64\"), 1i64), newshape=[1]), %0));\n"
    "  (nn.relu(dyn.reshape(%x, %1)), exp(dyn.reshape(concatenate((%y, %y)), %2)),\n"
    "   tanh(dyn.reshape(%y, %1)))\n}\n";

TEST_F(DynamicShapes, AReshapeToSizesOfItsOwnInput) {
  compile_text(kReshapesByOwnSizes);
  for (const std::int64_t n : {1, 4, 9}) expect_right({{"n", n}, {"m", 6}});
  EXPECT_NE(error_with({random_floats({2, 6}), random_floats({2, 5})}).find("dyn.reshape"),
            std::string::npos);
}

TEST_F(DynamicShapes, AReshapeToNumbersByItsOwnInput) {
  std::string text = kReshapesByOwnSizes;
  for (const std::string name : {"?n", "?m"}) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, 2, name == "?n" ? "4" : "6");
    }
  }
  compile_text(text);
  expect_right({});
}

TEST_F(DynamicShapes, ElementsRowsAndProducts) {
  compile_text(
      "#[symbol batch = 1..4]\n#[symbol seq = 1..40 : 16]\n"
      "def @main(%x: Tensor[(?batch, ?seq, 24), float32], %w: Tensor[(32, 24), float32],\n"
      "          %b: Tensor[(32), float32]) {\n"
      "  %0 = reshape(%x, newshape=[-1, 24]);\n"
      "  %1 = nn.dense(%0, %w, units=None);\n"
      "  %2 = nn.bias_add(%1, %b);\n"
      "  %3 = nn.relu(%2);\n"
      "  %4 = nn.softmax(%3);\n"
      "  %5 = transpose(%x, axes=[0, 2, 1]);\n"
      "  %6 = nn.batch_matmul(%5, %x);\n"
      "  %7 = sum(%x, axis=[1]);\n"
      "  (%4, %6, %7, add(%x, 1f))\n"
      "}\n");
  for (const auto& [batch, seq] :
       std::vector<std::pair<int, int>>{{1, 1}, {4, 40}, {2, 16}, {3, 17}, {1, 40}, {4, 1}}) {
    expect_right({{"batch", batch}, {"seq", seq}});
  }
}

TEST_F(DynamicShapes, SizesWithoutBoundAndOfTheLayout) {
  compile_text(
      "def @main(%x: Tensor[(?n, 6), float32], %y: Tensor[(?m, 6), float32]) {\n"
      "  %0 = concatenate((%x, %y), axis=0);\n"
      "  %1 = reshape(%0, newshape=[-1, 2, 3]);\n"
      "  %2 = nn.softmax(%1, axis=0);\n"
      "  %3 = strided_slice(%x, begin=[-2], end=[9223372036854775807], strides=[1], axes=[0]);\n"
      "  (%2, %3, mean(%2, axis=[0, 2]), nn.pad(%x, pad_width=[[1, 2], [0, 0]]))\n"
      "}\n");
  expect_right({{"n", 2}, {"m", 1}});
  expect_right({{"n", 1000}, {"m", 700}});  // the heap grows
  expect_right({{"n", 3}, {"m", 5}});
}

TEST_F(DynamicShapes, UnnamedSizesAreSymbolsOfTheirOwn) {
  compile_text(
      "def @main(%x: Tensor[(?, 3), float32]) {\n"
      "  fn (%p: Tensor[(?, 3), float32], Primitive=1) { exp(negative(%p)) }(%x)\n"
      "}\n");
  for (const std::int64_t n : {5, 1, 0}) {
    const Tensor x = random_floats({n, 3});
    for (exec::Session* session : {exported_.get(), interpreted_.get()}) {
      const Tensor y = value_of(session->run(std::vector{x})).front();
      ASSERT_EQ(y.shape, x.shape);
      for (std::int64_t i = 0; i < y.num_elements(); ++i) {
        EXPECT_NEAR(element_as_double(y, i), std::exp(-element_as_double(x, i)), 1e-5);
      }
    }
  }
  EXPECT_EQ(exported_->outputs().front().shape, (std::vector<std::int64_t>{-1, 3}));
}

TEST_F(DynamicShapes, RangesStepsAndAgreementAreChecked) {
  compile_text(
      "#[symbol n = 4..12 step 4]\n"
      "def @main(%x: Tensor[(?n, 3), float32], %y: Tensor[(?n), float32]) { (sum(%x), %y) }\n");
  EXPECT_EQ(
      error_with({random_floats({16, 3}), random_floats({16})}),
      "dimension 0 of input `x` is 16, the model was compiled for `n` in 4..12 in steps of 4");
  EXPECT_EQ(error_with({random_floats({6, 3}), random_floats({6})}),
            "dimension 0 of input `x` is 6, the model was compiled for `n` in 4..12 in steps of 4");
  EXPECT_EQ(error_with({random_floats({8, 3}), random_floats({4})}),
            "dimension 0 of input `y` is 4, but `n` is 8 in an earlier one");
  expect_right({{"n", 8}});
}

// ---- Sizes that depend on data ----

TEST_F(DynamicShapes, SizesThatDependOnData) {
  compile_text(
      "def @main(%x: Tensor[(?n, 6), float32], %s: Tensor[(2), int64], %k: float32) {\n"
      "  %0 = nn.relu(dyn.reshape(exp(%x), %s));\n"
      "  %1 = argwhere(greater(%x, 0.5f));\n"
      "  %2 = arange(0f, %k, 1f);\n"
      "  %3 = argwhere(%x);\n"
      "  (%0, sum(%0, axis=[1]), %1, tanh(%2), %3)\n"
      "}\n");
  for (const auto& [n, rows, k] : std::vector<std::tuple<std::int64_t, std::int64_t, double>>{
           {2, 3, 4}, {100, -1, 0}, {1, 6, 2000}, {40, 12, 3}}) {
    expect_right_with(
        {random_floats({n, 6}), int_list({rows, rows < 0 ? 10 : n * 6 / rows}), scalar(k)});
  }
  EXPECT_EQ(exported_->outputs()[0].shape, (std::vector<std::int64_t>{-1, -1}));
  EXPECT_EQ(exported_->outputs()[2].shape, (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(
      error_with({random_floats({2, 6}), int_list({5, 2}), scalar(1)}),
      "the run failed: `dyn.reshape`: what says the size of its result gives -1 for dimension "
      "0, which does not fit its operands");
  expect_right_with({random_floats({2, 6}), int_list({4, 3}), scalar(5)});
}

TEST_F(DynamicShapes, WhatNoMemoryCanHoldIsAnError) {
  compile_text(
      "def @main(%shape: Tensor[(2), int64]) {\n"
      "  exp(dyn.full(1f, %shape))\n}\n");
  expect_right_with({int_list({2, 3})});
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  EXPECT_EQ(error_with({int_list({kHuge, kHuge})}),
            "the run failed: a tensor of unbounded size has 2147483648 x 2147483648 elements, more "
            "bytes than 64 bits can count");
}

TEST_F(DynamicShapes, BranchesAndLoopsDecideSizes) {
  compile_text(std::string(lower::testing::kGrowingLoop) +
               "def @main(%x: Tensor[(1, 2), float32], %n: int64, %c: bool) {\n"
               "  %2 = @grow(0i64, %n, %x, %x);\n"
               "  %3 = if (%c) { %2.0 } else { concatenate((%2.0, %2.1)) };\n"
               "  (tanh(%3), %2.1)\n}\n");
  for (const std::int64_t n : {0, 1, 9, 3}) {
    for (const std::int64_t c : {0, 1}) {
      expect_right_with({random_floats({1, 2}), tensor_from_ints({}, kInt64, std::vector{n}),
                         tensor_from_ints({}, kBool, std::vector{c})});
    }
  }
}

TEST_F(DynamicShapes, BroadcastSizesAreCheckedAtRunTime) {
  compile_text(
      "def @main(%x: Tensor[(?a, 2), float32], %y: Tensor[(?b, 2), float32],\n"
      "          %z: Tensor[(3, 2), float32]) {\n"
      "  (tanh(add(%x, %y)), multiply(%x, %z))\n}\n");
  const auto rows = [](std::int64_t n) { return random_floats({n, 2}); };
  expect_right_with({rows(3), rows(3), rows(3)});
  expect_right_with({rows(1), rows(7), rows(3)});
  expect_right_with({rows(3), rows(1), rows(3)});
  EXPECT_EQ(error_with({rows(3), rows(4), rows(3)}),
            "the run failed: `add`: its operands have 3 and 4 elements in dimension 0: sizes that "
            "are broadcast must be equal, or one of them 1");
  EXPECT_EQ(error_with({rows(4), rows(4), rows(3)}),
            "the run failed: `multiply`: its operands have 4 and 3 elements in dimension 0: sizes "
            "that are broadcast must be equal, or one of them 1");
}

TEST_F(DynamicShapes, ExpressionsInTheShapesOfInputsAreChecked) {
  compile_text(
      "#[symbol n = 1..9]\n"
      "def @main(%x: Tensor[(?(2*n+1), 3), float32], %y: Tensor[(?n), float32]) {\n"
      "  (exp(%x), %y)\n}\n");
  expect_right({{"n", 4}});
  EXPECT_EQ(error_with({random_floats({8, 3}), random_floats({4})}),
            "dimension 0 of input `x` is 8, and must be 9 by the sizes of the others");
}

TEST_F(DynamicShapes, WindowsAndElementsThatDoNotFitAreRefused) {
  compile_text(
      "def @main(%x: Tensor[(1, 2, ?h, 8), float32], %w: Tensor[(4, 2, 3, 3), float32],\n"
      "          %y: Tensor[(?n, ?m), float32]) {\n"
      "  (nn.relu(nn.conv2d(%x, %w)), exp(reshape(%y, newshape=[3, 4])),\n"
      "   exp(reshape(%y, newshape=[-1, 4])), split(%y, indices_or_sections=2, axis=1).1)\n}\n");
  const auto given = [](std::int64_t h, std::int64_t n, std::int64_t m) {
    return std::vector{random_floats({1, 2, h, 8}), random_floats({4, 2, 3, 3}),
                       random_floats({n, m})};
  };
  expect_right_with(given(3, 3, 4));
  expect_right_with(given(7, 1, 12));
  EXPECT_NE(error_with(given(1, 3, 4)).find("a window, borders included, and its reach differ"),
            std::string::npos);
  EXPECT_NE(error_with(given(3, 2, 4)).find("numbers of elements differ"), std::string::npos);
  EXPECT_NE(error_with(given(3, 3, 3)).find("differ"), std::string::npos);
}

TEST_F(DynamicShapes, SizesThatMustAgreeAreChecked) {
  compile_text(
      "def @main(%x: Tensor[(3, ?a), float32], %w: Tensor[(4, ?b), float32],\n"
      "          %y: Tensor[(?c, 2), float32], %z: Tensor[(?d), float32]) {\n"
      "  %0 = nn.dense(%x, %w, units=None);\n"
      "  (nn.relu(%0), nn.matmul(%0, %y, units=None), nn.bias_add(%0, %z))\n}\n");
  const auto given = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return std::vector{random_floats({3, a}), random_floats({4, b}), random_floats({c, 2}),
                       random_floats({d})};
  };
  expect_right_with(given(5, 5, 4, 4));
  expect_right_with(given(1, 1, 4, 4));
  EXPECT_EQ(error_with(given(5, 6, 4, 4)),
            "the run failed: `nn.dense`: contraction sizes differ: 5 (`a`) and 6 (`b`)");
  EXPECT_EQ(error_with(given(5, 5, 3, 4)),
            "the run failed: `nn.matmul`: contraction sizes differ: 4 and 3 (`c`)");
  EXPECT_EQ(error_with(given(5, 5, 4, 1)),
            "the run failed: `nn.bias_add`: sizes of axis and bias differ: 4 and 1 (`d`)");
}

TEST_F(DynamicShapes, BatchesAreBroadcast) {
  compile_text(
      "def @main(%x: Tensor[(?a, 2, 3), float32], %y: Tensor[(?b, 3, 4), float32]) {\n"
      "  %0 = nn.batch_matmul(%x, %y, transpose_b=False);\n"
      "  (nn.relu(%0), nn.softmax(%0))\n}\n");
  const auto given = [](std::int64_t a, std::int64_t b) {
    return std::vector{random_floats({a, 2, 3}), random_floats({b, 3, 4})};
  };
  for (const auto& [a, b] : {std::pair{5, 5}, {1, 1}, {1, 4}, {3, 1}}) {
    expect_right_with(given(a, b));
  }
  EXPECT_EQ(error_with(given(5, 4)),
            "the run failed: `nn.batch_matmul`: its operands have 5 and 4 elements in dimension 0: "
            "sizes that are broadcast must be equal, or one of them 1");
}

// A layer of attention with everything around it, by each back end.
constexpr const char* kAttention =
    "#[symbol batch = 1..3]\n#[symbol seq = 1..20 : 16]\n"
    "def @main(%x: Tensor[(?batch, ?seq, 16), float32], %w: Tensor[(16, 16), float32],\n"
    "          %b: Tensor[(16), float32]) {\n"
    "  %0 = nn.matmul(%x, %w, units=None);\n"
    "  %1 = add(%0, %b);\n"
    "  %2 = reshape(%1, newshape=[0, 0, 2, 8]);\n"
    "  %3 = transpose(%2, axes=[0, 2, 1, 3]);\n"
    "  %4 = transpose(%2, axes=[0, 2, 3, 1]);\n"
    "  %5 = nn.matmul(%3, %4, units=None);\n"
    "  %6 = nn.softmax(%5);\n"
    "  %7 = nn.matmul(%6, %3, units=None);\n"
    "  %8 = transpose(%7, axes=[0, 2, 1, 3]);\n"
    "  %9 = reshape(%8, newshape=[0, 0, 16]);\n"
    "  %10 = add(%9, %x);\n"
    "  nn.relu(%10)\n"
    "}\n";

class DynamicShapesBy : public DynamicShapes, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    const bool is_here = !backends::find_backend(GetParam())->available(Target(GetParam()));
    if (!::tessera::testing::is_there(GetParam(), is_here)) GTEST_SKIP();
  }
};

TEST_P(DynamicShapesBy, SizesThatMustAgreeAreChecked) {
  compile_text(
      "def @main(%x: Tensor[(3, ?a), float32], %w: Tensor[(4, ?b), float32]) {\n"
      "  nn.relu(nn.dense(%x, %w, units=None))\n}\n",
      {"cpu", GetParam()});
  expect_right_with({random_floats({3, 5}), random_floats({4, 5})});
  EXPECT_EQ(error_with({random_floats({3, 5}), random_floats({4, 6})}),
            "the run failed: `nn.dense`: contraction sizes differ: 5 (`a`) and 6 (`b`)");
}

TEST_P(DynamicShapesBy, ASumOverNothingIsZero) {
  compile_text(
      "#[symbol k = 0..8]\n"
      "def @main(%x: Tensor[(3, ?k), float32], %w: Tensor[(?k, 4), float32],\n"
      "          %b: Tensor[(4), float32], %v: Tensor[(5, ?k), float32]) {\n"
      "  (nn.relu(add(nn.matmul(%x, %w, units=None), %b)), nn.dense(%v, %x, units=None))\n}\n",
      {"cpu", GetParam()});
  for (const std::int64_t k : {3, 0, 8, 0}) expect_right({{"k", k}});
}

// Where one batch is a number, so is the result's.
TEST_P(DynamicShapesBy, BatchesAreBroadcast) {
  compile_text(
      "def @main(%x: Tensor[(4, 2, 3), float32], %y: Tensor[(?b, 3, 5), float32],\n"
      "          %z: Tensor[(?c, ?d, 5, 2), float32]) {\n"
      "  %0 = nn.batch_matmul(%x, %y, transpose_b=False);\n"
      "  (%0, nn.matmul(%0, %z, units=None))\n}\n",
      {"cpu", GetParam()});
  const auto given = [](std::int64_t b, std::int64_t c, std::int64_t d) {
    return std::vector{random_floats({4, 2, 3}), random_floats({b, 3, 5}),
                       random_floats({c, d, 5, 2})};
  };
  expect_right_with(given(4, 1, 1));
  expect_right_with(given(1, 2, 4));
  expect_right_with(given(4, 3, 1));
  EXPECT_EQ(error_with(given(3, 1, 1)),
            "the run failed: `nn.batch_matmul`: its operands have 4 and 3 elements in dimension 0: "
            "sizes that are broadcast must be equal, or one of them 1");
}

TEST_P(DynamicShapesBy, AttentionEqualsTheStaticOne) {
  compile_text(kAttention, {"cpu", GetParam()});
  const auto placed = [&](const PlacementRow& row) { return row.backend == GetParam(); };
  EXPECT_TRUE(std::any_of(report_.placement.begin(), report_.placement.end(), placed));
  // Ten shapes, with 1 and the maximum, and more than a call site keeps primitives for.
  for (const auto& [batch, seq] : std::vector<std::pair<int, int>>{
           {1, 1}, {3, 20}, {2, 16}, {1, 20}, {3, 1}, {2, 7}, {1, 3}, {3, 11}, {2, 2}, {1, 16}}) {
    expect_right({{"batch", batch}, {"seq", seq}});
  }
  expect_right({{"batch", 1}, {"seq", 1}});
}

// Convolutions of integers with a residual in between, and pooling.
TEST_P(DynamicShapesBy, QuantisedResiduals) {
  compile_text(
      "#[symbol n = 1..4]\n#[symbol h = 1..9]\n"
      "def @main(%x: Tensor[(?n, 8, ?h, 5), float32], %y: Tensor[(?n, 8, ?h, 5), float32]) {\n"
      "  %0 = cast(minimum(maximum(add(round(divide(%x, 0.02f)), 117f), 0f), 255f), "
      "dtype=\"uint8\");\n"
      "  %1 = cast(minimum(maximum(round(divide(%y, 0.01f)), 0f), 255f), dtype=\"uint8\");\n"
      "  %2 = multiply(subtract(cast(%0, dtype=\"float32\"), 117f), 0.02f);\n"
      "  %3 = add(%2, multiply(cast(%1, dtype=\"float32\"), 0.01f));\n"
      "  %4 = round(divide(nn.relu(%3), 0.0137f));\n"
      "  %5 = cast(minimum(maximum(%4, 0f), 255f), dtype=\"uint8\");\n"
      "  %6 = multiply(cast(%5, dtype=\"float32\"), 0.0137f);\n"
      "  nn.max_pool2d(%6, pool_size=[3, 3], padding=[1, 1])\n}\n",
      {"cpu", GetParam()});
  for (const auto& [n, h] : std::vector<std::pair<int, int>>{{1, 1}, {4, 9}, {2, 3}, {1, 9}}) {
    expect_right({{"n", n}, {"h", h}});
  }
}

// Squeeze and excitation, of no image, too.
TEST_P(DynamicShapesBy, GatesOfImages) {
  compile_text(
      "#[symbol n = 0..9 : 2]\n"
      "def @main(%x: Tensor[(?n, 24, 9, 7), float32], %d: Tensor[(24, 1, 3, 3), float32],\n"
      "          %s: Tensor[(6, 24, 1, 1), float32], %e: Tensor[(24, 6, 1, 1), float32]) {\n"
      "  %0 = nn.relu(nn.conv2d(%x, %d, padding=[1, 1], groups=24, channels=24, "
      "kernel_size=[3, 3]));\n"
      "  %1 = mean(%0, axis=[2, 3], keepdims=True);\n"
      "  %2 = nn.relu(nn.conv2d(%1, %s, channels=6, kernel_size=[1, 1]));\n"
      "  %3 = sigmoid(nn.conv2d(%2, %e, channels=24, kernel_size=[1, 1]));\n"
      "  nn.conv2d(multiply(%3, %0), %s, channels=6, kernel_size=[1, 1])\n}\n",
      {"cpu", GetParam()});
  for (const int n : {2, 0, 1, 9, 2}) expect_right({{"n", n}});
}

TEST_P(DynamicShapesBy, SizesThatListsSay) {
  compile_text(
      "#[symbol batch = 1..3]\n#[symbol seq = 1..20 : 16]\n"
      "def @main(%x: Tensor[(?batch, ?seq, 16), float32], %y: Tensor[(1, ?seq, 16), float32]) {\n"
      "  %0 = shape_of(%x, dtype=\"int64\");\n"
      "  %1 = dyn.reshape(tanh(reshape(%x, newshape=[-1, 16])), %0);\n"
      "  %2 = dyn.broadcast_to(exp(%y), %0);\n"
      "  (add(%x, %2), transpose(%1, axes=[0, 2, 1]))\n}\n",
      {"cpu", GetParam()});
  for (const auto& [batch, seq] : std::vector<std::pair<int, int>>{{1, 1}, {3, 20}, {2, 16}}) {
    expect_right({{"batch", batch}, {"seq", seq}});
  }
}

INSTANTIATE_TEST_SUITE_P(BackEnds, DynamicShapesBy,
                         ::testing::Values("onednn", "blas", "ccompiler", "openvino"));

// Sums side by side along a loop of open size, in vectors and what they leave, whatever vectors
// are.
TEST_F(DynamicShapes, BlocksOfSumsAlongAnOpenSize) {
  compile_text(
      "def @main(%x: Tensor[(2, 3, ?h, ?w), float32], %k: Tensor[(4, 3, 3, 3), float32], "
      "%b: Tensor[(4), float32]) {\n"
      "  %0 = nn.conv2d(%x, %k, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);\n"
      "  (nn.relu(nn.bias_add(%0, %b)), sum(%x, axis=[0, 1, 2]), max(%x, axis=[2]))\n}\n");
  for (const std::int64_t width : {1, 3, 4, 8, 15, 16, 17, 40}) {
    expect_right({{"h", 5}, {"w", width}});
    expect_right({{"h", 1}, {"w", width}});
  }
}

}  // namespace
}  // namespace tessera::driver
