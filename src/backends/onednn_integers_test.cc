// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of integers of eight bits, as QLinearConv, ConvInteger, QLinearMatMul
// and MatMulInteger become them: what is one composite, and that its numbers are those of the
// operators, bit for bit.
#include "backends/onednn/library_handle.h"
#include "backends/onednn/onednn.h"
#include "backends/testing/graph_case.h"
#include "support/testing/requirement.h"

namespace tessera::backends {
namespace {

using Names = std::vector<std::string>;

struct Shapes {
  const char* name;
  int spatial;
  const char* image;    // its sizes
  const char* weights;  // theirs
  const char* attrs;
  int channels;  // of the result
};

const Shapes kShapes[] = {
    {"three_by_three", 2, "2, 16, 9, 11", "24, 16, 3, 3", "padding=[1, 1, 1, 1]", 24},
    {"one_by_one", 2, "1, 20, 7, 7", "17, 20, 1, 1", "strides=[2, 2]", 17},
    {"uneven_padding", 2, "2, 5, 9, 8", "8, 5, 3, 2", "padding=[1, 2, 0, 1], strides=[2, 1]", 8},
    {"few_channels", 2, "2, 3, 17, 16", "16, 3, 7, 7", "padding=[3, 3, 3, 3], strides=[2, 2]", 16},
    {"dilated", 2, "1, 16, 14, 14", "16, 16, 3, 3", "padding=[2, 2, 2, 2], dilation=[2, 2]", 16},
    {"depthwise", 2, "2, 33, 9, 9", "33, 1, 3, 3", "padding=[1, 1, 1, 1], groups=33", 33},
    {"several_of_each_channel", 2, "1, 8, 9, 9", "16, 1, 3, 3", "padding=[1, 1], groups=8", 16},
    {"grouped", 2, "1, 12, 9, 9", "18, 4, 3, 3", "padding=[1, 1], groups=3", 18},
    {"one_channel", 2, "1, 1, 9, 9", "1, 1, 3, 3", "", 1},
    // Enough work for AMX.
    {"large", 2, "1, 64, 28, 28", "40, 64, 3, 3", "padding=[1, 1]", 40},
    {"large_odd", 2, "2, 67, 27, 19", "259, 67, 1, 1", "", 259},
    {"signal", 1, "2, 20, 50", "12, 20, 5", "padding=[2, 2]", 12},
    {"volume", 3, "1, 8, 5, 6, 7", "8, 8, 3, 3, 3", "padding=[1, 1, 1]", 8},
};

// `%0` is the image as int32; `after` follows the sums, `%1`.
std::string graph(const Shapes& s, const std::string& dtype, const std::string& wide,
                  const std::string& after) {
  std::string ones;
  for (int i = 0; i < s.spatial; ++i) ones += ", 1";
  const std::string attrs = *s.attrs != '\0' ? fmt::format(", {}", s.attrs) : "";
  return fmt::format(R"(
def @main(%x: Tensor[({0}), {1}], %z: {1}, %t: float32, %c_w: Tensor[({2}), int32],
          %c_b: Tensor[({3}{4}), int32], %c_f: Tensor[({3}{4}), float32],
          %c_g: Tensor[({3}), float32]) {{
  %0 = {5};
  %1 = nn.conv{6}d(%0, %c_w{7});
  {8}
}})",
                     s.image, dtype, s.weights, s.channels, ones, wide, s.spatial, attrs, after);
}

const std::string kWide = "cast(%x, dtype=\"int32\")";

std::string less(const std::string& zero) {
  return fmt::format("subtract(cast(%x, dtype=\"int32\"), {})", zero);
}

// Rounded, shifted and cut off.
std::string requantised(const std::string& sums, const std::string& factor, const char* zero,
                        const char* least, const char* most, const char* dtype) {
  return fmt::format(R"(%2 = multiply(cast({}, dtype="float32"), {});
  %3 = add(round(%2), {});
  cast(minimum(maximum(%3, {}), {}), dtype="{}"))",
                     sums, factor, zero, least, most, dtype);
}

class OnednnIntegers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = onednn_backend().available(Target("onednn"))) {
      (void)::tessera::testing::is_there("onednn", false);
      GTEST_SKIP() << missing->reason;
    }
  }

  // Compiled, the results are those of the operators, without a difference or so many levels.
  static Names composites(const std::string& text, double levels = 0) {
    const Module module = testing::parse_graph(text);
    const byoc::BackendChoice choices[] = {{&onednn_backend(), Target("onednn")}};
    const auto outcome = testing::compile_graph(module, choices);
    testing::expect_same_results(outcome.module, module, levels);
    return testing::composites_of(outcome);
  }
  static std::string reason(const std::string& text) {
    const byoc::BackendChoice choices[] = {{&onednn_backend(), Target("onednn")}};
    const auto outcome = byoc::partition_greedy(testing::parse_graph(text), choices);
    EXPECT_TRUE(outcome) << render(outcome.error());
    EXPECT_TRUE(testing::composites_of(*outcome).empty());
    return outcome->refusals.empty() ? "" : outcome->refusals.front().reason;
  }
};

// What sums bytes is left to generated code where the library has no kernels for it that are exact.
Names on_this_cpu(Names names) {
  if (onednn::library_multiplies_bytes()) return names;
  std::erase_if(names, [](const std::string& name) { return name.rfind("integer_", 0) == 0; });
  return names;
}

Names integer_conv(const Shapes& s, const char* what) {
  return on_this_cpu({fmt::format("integer_conv{}d{}", s.spatial, what)});
}

TEST_F(OnednnIntegers, SumsAreExactForAllShapes) {
  for (const Shapes& s : kShapes) {
    SCOPED_TRACE(s.name);
    for (const char* dtype : {"uint8", "int8"}) {
      EXPECT_EQ(composites(graph(s, dtype, kWide, "%1")), integer_conv(s, ""));
      EXPECT_EQ(composites(graph(s, dtype, less("-7"), "%1")), integer_conv(s, ""));
      EXPECT_EQ(composites(graph(s, dtype, less("cast(%z, dtype=\"int32\")"), "%1")),
                integer_conv(s, ""));
    }
  }
}

TEST_F(OnednnIntegers, RequantisedResultsAreExactForAllShapes) {
  for (const Shapes& s : kShapes) {
    SCOPED_TRACE(s.name);
    EXPECT_EQ(
        composites(graph(s, "uint8", less("114"),
                         requantised("add(%1, %c_b)", "0.0007f", "3f", "0f", "255f", "uint8"))),
        integer_conv(s, "_requantised"));
    // Halves go to the even number: most products are one.
    EXPECT_EQ(composites(graph(s, "int8", less("-128"),
                               requantised("%1", "0.0005f", "-17f", "-128f", "127f", "int8"))),
              integer_conv(s, "_requantised"));
    EXPECT_EQ(composites(graph(s, "int8", kWide,
                               requantised("%1", "0.001953125f", "0f", "-10f", "100f", "int8"))),
              integer_conv(s, "_requantised"));
  }
}

TEST_F(OnednnIntegers, RescaledResultsAreExactForAllShapes) {
  for (const Shapes& s : kShapes) {
    SCOPED_TRACE(s.name);
    EXPECT_EQ(composites(graph(s, "uint8", less("cast(%z, dtype=\"int32\")"),
                               R"(%2 = multiply(cast(%1, dtype="float32"), %t);
  nn.relu(add(%2, %c_f)))")),
              integer_conv(s, "_rescaled"));
    EXPECT_EQ(composites(graph(s, "int8", kWide,
                               R"(multiply(cast(add(%1, %c_b), dtype="float32"), %c_f))")),
              integer_conv(s, "_rescaled"));
  }
}

// What a model quantises after a bias and a ReLU in float32, as widen-quantized-products leaves it.
TEST_F(OnednnIntegers, QuantisedResultsAreExactForAllShapes) {
  for (const Shapes& s : kShapes) {
    SCOPED_TRACE(s.name);
    EXPECT_EQ(composites(graph(s, "uint8", less("114"),
                               R"(%2 = multiply(cast(%1, dtype="float32"), 0.0003f);
  %3 = add(round(divide(nn.relu(add(%2, %c_f)), 0.021f)), 7f);
  cast(minimum(maximum(%3, 0f), 255f), dtype="uint8"))")),
              integer_conv(s, "_requantised"));
    EXPECT_EQ(composites(graph(s, "int8", kWide,
                               R"(%2 = multiply(cast(%1, dtype="float32"), %c_f);
  %3 = round(divide(nn.bias_add(%2, %c_g, axis=1), 3.7f));
  cast(minimum(maximum(%3, -128f), 127f), dtype="int8"))")),
              integer_conv(s, "_requantised"));
  }
}

// Rows of any number of dimensions, and weights that lie along the terms or the columns.
TEST_F(OnednnIntegers, ProductsAreExact) {
  const struct {
    const char *rows, *weight, *op, *name;
  } products[] = {{"7, 30", "17, 30", "nn.dense(%0, %c_w, units=17", "dense"},
                  {"2, 3, 64", "64, 17", "nn.matmul(%0, %c_w, units=None", "matmul"},
                  {"3, 11, 130", "130, 17", "nn.matmul(%0, %c_w, units=None", "matmul"},
                  {"1, 5", "17, 5", "nn.matmul(%0, %c_w, units=None, transpose_b=True", "matmul"}};
  for (const auto& p : products) {
    SCOPED_TRACE(p.rows);
    const auto text = [&p](const char* dtype, const std::string& wide, const std::string& after) {
      return fmt::format(R"(
def @main(%x: Tensor[({0}), {1}], %z: Tensor[(1), {1}], %t: float32, %c_w: Tensor[({2}), int32],
          %c_b: Tensor[(17), int32], %c_f: Tensor[(17), float32]) {{
  %0 = {3};
  %1 = {4});
  {5}
}})",
                         p.rows, dtype, p.weight, wide, p.op, after);
    };
    const std::string name = fmt::format("integer_{}", p.name);
    const std::string runs_own = less("reshape(cast(%z, dtype=\"int32\"), newshape=[])");
    EXPECT_EQ(composites(text("uint8", runs_own, "%1")), on_this_cpu({name}));
    EXPECT_EQ(composites(text("int8", less("5"), "%1")), on_this_cpu({name}));
    EXPECT_EQ(composites(text("int8", runs_own, R"(%2 = multiply(cast(%1, dtype="float32"), %t);
  add(%2, %c_f))")),
              on_this_cpu({name + "_rescaled"}));
    EXPECT_EQ(composites(text("uint8", less("9"), R"(%2 = multiply(cast(%1, dtype="float32"), %c_f);
  %3 = add(round(divide(nn.bias_add(%2, %c_f, axis=-1), 0.3f)), 100f);
  cast(minimum(maximum(%3, 0f), 255f), dtype="uint8"))")),
              on_this_cpu({name + "_requantised"}));
    EXPECT_EQ(
        composites(text("uint8", kWide,
                        requantised("add(%1, %c_b)", "0.0017f", "100f", "0f", "255f", "uint8"))),
        on_this_cpu({name + "_requantised"}));
  }
}

// Layouts go on from one to the next in one region.
TEST_F(OnednnIntegers, LayersInARow) {
  EXPECT_EQ(composites(R"(
def @main(%x: Tensor[(2, 8, 10, 10), uint8], %c_v: Tensor[(16, 8, 3, 3), int32],
          %c_w: Tensor[(8, 16, 3, 3), int32]) {
  %0 = nn.conv2d(cast(%x, dtype="int32"), %c_v, padding=[1, 1]);
  %1 = round(multiply(cast(%0, dtype="float32"), 0.001f));
  %2 = cast(minimum(maximum(%1, 0f), 255f), dtype="uint8");
  %3 = nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2]);
  %4 = nn.conv2d(cast(%3, dtype="int32"), %c_w, padding=[1, 1]);
  multiply(cast(%4, dtype="float32"), 0.002f)
})"),
            on_this_cpu({"integer_conv2d_requantised", "max_pool2d", "integer_conv2d_rescaled"}));
}

// One level apart at most, where a sum is within rounding of the middle between two.
TEST_F(OnednnIntegers, SumsOfQuantisedTensors) {
  const char* const shapes[] = {"2, 24, 9, 11", "1, 3, 50", "4, 17", "33", "1, 1, 1, 1", "2, 0, 3"};
  const struct {
    const char *a, *b, *sum, *scale, *zero, *least, *most, *dtype;
  } cases[] = {
      {"subtract(%0, 138f)", "subtract(%1, 3f)", "%4", "0.0371f", "7f", "0f", "255f", "uint8"},
      {"%0", "subtract(%1, -12f)", "nn.relu(%4)", "0.0262f", "-100f", "-128f", "127f", "int8"},
      {"%0", "%1", "%4", "0.04f", "0f", "-20f", "90f", "int8"},
  };
  for (const char* shape : shapes) {
    SCOPED_TRACE(shape);
    for (const auto& c : cases) {
      const std::string text = fmt::format(
          R"(
def @main(%x: Tensor[({0}), {1}], %y: Tensor[({0}), {1}]) {{
  %0 = cast(%x, dtype="float32");
  %1 = cast(%y, dtype="float32");
  %2 = multiply({2}, 0.0337f);
  %3 = multiply({3}, 0.0219f);
  %4 = add(%2, %3);
  %5 = add(round(divide({4}, {5})), {6});
  cast(minimum(maximum(%5, {7}), {8}), dtype="{1}")
}})",
          shape, c.dtype, c.a, c.b, c.sum, c.scale, c.zero, c.least, c.most);
      const bool is_empty = std::string_view(shape).find(" 0,") != std::string_view::npos;
      EXPECT_EQ(composites(text, 1), is_empty ? Names{} : Names{"quantised_sum"});
    }
  }
  EXPECT_NE(reason(R"(
def @main(%x: Tensor[(2, 4), uint8], %y: Tensor[(4), uint8]) {
  %0 = multiply(cast(%x, dtype="float32"), 0.5f);
  %1 = add(%0, multiply(cast(%y, dtype="float32"), 0.25f));
  cast(minimum(maximum(round(%1), 0f), 255f), dtype="uint8")
})")
                .find("the operands differ in shape"),
            std::string::npos);
}

// 255 * 127 * 576 is more than 2^24.
TEST_F(OnednnIntegers, WhatMayBeInexactIsLeft) {
  const Shapes large = {"large", 2, "1, 512, 3, 3", "1, 512, 3, 3", "", 1};
  EXPECT_NE(reason(graph(large, "uint8", kWide, "%1")).find("float32 has all integers up to"),
            std::string::npos);
  EXPECT_NE(reason(graph(kShapes[0], "uint8", less("cast(%t, dtype=\"int32\")"), "%1"))
                .find("not known to be of eight bits"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::backends
