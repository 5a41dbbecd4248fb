// SPDX-License-Identifier: Apache-2.0
// What of a quantised model is computed in floats, with its reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "passes/manager.h"
#include "passes/pass.h"
#include "passes/pipeline_text.h"
#include "passes/testing/text.h"

namespace tessera::passes {
namespace {

// A convolution of x with w between dequantisations, then what is done with its result %2.
std::string model(const std::string& x, const std::string& attrs, const std::string& rest) {
  return fmt::format(
      "def @main(%x: Tensor[{}, uint8], %f: Tensor[(1, 4, 6, 6), float32], %zero: float32) {{\n"
      "  %0 = multiply(subtract(cast(%x, dtype=\"float32\"), 114f), 0.02f);\n"
      "  %1 = multiply(cast(meta[relay.Constant][0], dtype=\"float32\"), 0.5f);\n"
      "  %2 = nn.conv2d(%0, %1{});\n{}}}\n",
      x, attrs, rest);
}

Tensor weights(std::vector<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const auto d : shape) count *= d;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i % 251) - 125);
  return tensor_from_doubles(std::move(shape), kInt8, values);
}

// "2 add, it is ..."
std::vector<std::string> rows(const std::string& text, const Tensor& weight,
                              const std::string& pipeline) {
  const auto calls = parse_pipeline(pipeline, all_passes());
  TESSERA_CHECK(calls.has_value(), "{}", render(calls.error()));
  const auto outcome = run_passes(testing::module_of(text, {weight}), *calls, ops::operators());
  TESSERA_CHECK(outcome.has_value(), "{}", render(outcome.error()));
  std::vector<std::string> rows;
  for (const auto& [op, reason, count] : outcome->float_operators) {
    rows.push_back(fmt::format("{} {}, {}", count, op, reason));
  }
  return rows;
}

using Rows = std::vector<std::string>;
const std::string kPairs =
    "widen-quantized-products{pairs=true},list-float-operators{integers=pairs}";
const std::string kAll = "widen-quantized-products,list-float-operators{integers=all}";

TEST(ListFloatOperators, NothingOfWhatIsMultipliedAsIntegers) {
  const std::string text = model("(1, 4, 6, 6)", "", "  nn.relu(%2)\n");
  EXPECT_EQ(rows(text, weights({3, 4, 3, 3}), kPairs), Rows{});
  EXPECT_EQ(rows(text, weights({3, 4, 3, 3}), kAll), Rows{});
}

TEST(ListFloatOperators, WithoutProductsOfIntegers) {
  EXPECT_EQ(
      rows(model("(1, 4, 6, 6)", "", "  %2\n"), weights({3, 4, 3, 3}), "list-float-operators"),
      Rows{"1 nn.conv2d, nothing here multiplies integers of its kind"});
  EXPECT_EQ(rows(model("(1, 4, 6, 6)", "", "  %2\n"), weights({3, 4, 3, 3}),
                 "list-float-operators{integers=all}"),
            Rows{"1 nn.conv2d, integers of it are multiplied by no back end that is asked"});
}

TEST(ListFloatOperators, WhatHasNoPairs) {
  const auto only = [](const std::string& reason) { return Rows{"1 nn.conv2d, " + reason}; };
  EXPECT_EQ(rows(model("(1, 3, 6, 6)", "", "  %2\n"), weights({4, 3, 3, 3}), kPairs),
            only("the number of its channels is odd"));
  EXPECT_EQ(rows(model("(1, 4, 6, 6)", ", groups=2", "  %2\n"), weights({4, 2, 3, 3}), kPairs),
            only("its channels are in groups"));
  EXPECT_EQ(rows(model("(?n, 4, ?h, 6)", "", "  %2\n"), weights({4, 4, 3, 3}), kPairs), Rows{});
}

// Windows of 3 by 3 over many places and channels, one after the other.
TEST(ListFloatOperators, WhatIsLessWorkInFloats) {
  const std::string image = "(1, 48, 22, 22)", padded = ", padding=[1, 1, 1, 1]";
  const Rows none, less{"1 nn.conv2d, Winograd's sums of floats are less work"};
  const auto found = [&](const std::string& x, const std::string& attrs, std::int64_t channels) {
    return rows(model(x, attrs, "  %2\n"), weights({channels, 48, 3, 3}), kPairs);
  };
  EXPECT_EQ(found(image, padded, 48), less);
  EXPECT_EQ(found("(1, 48, 14, 14)", padded, 48), none);
  EXPECT_EQ(found(image, padded, 32), none);
  EXPECT_EQ(found(image, ", dilation=[2, 1]", 48), none);
  EXPECT_EQ(found("(1, 48, 60, 60)", ", strides=[2, 2]", 48), none);
  EXPECT_EQ(rows(model(image, padded, "  %2\n"), weights({48, 48, 3, 3}), kAll), none);
}

TEST(ListFloatOperators, ZeroPointsOfARun) {
  std::string text = model("(1, 4, 6, 6)", "", "  %2\n");
  text.replace(text.find("114f"), 4, "%zero");
  EXPECT_EQ(rows(text, weights({4, 4, 3, 3}), kAll),
            Rows{"1 nn.conv2d, the zero point of its data is no constant"});
}

// A view of what was dequantised is one, too; the next quantisation is none.
TEST(ListFloatOperators, WhatHasNoForm) {
  const std::string text =
      model("(1, 4, 6, 6)", "",
            "  %3 = add(%0, %f);\n  %4 = nn.softmax(reshape(%0, newshape=[4, 36]));\n"
            "  %5 = cast(round(divide(%0, 0.5f)), dtype=\"int8\");\n"
            "  (%2, %3, %4, sigmoid(%0), sigmoid(%3), %5, transpose(%0, axes=[0, 2, 3, 1]))\n");
  const std::string why = ", it is computed on dequantised numbers";
  EXPECT_EQ(rows(text, weights({3, 4, 3, 3}), kPairs),
            (Rows{"1 add" + why, "1 nn.softmax" + why, "1 sigmoid" + why}));
}

TEST(ListFloatOperators, AWordThatIsNone) {
  const auto calls = parse_pipeline("list-float-operators{integers=some}", all_passes());
  ASSERT_TRUE(calls);
  EXPECT_FALSE(run_passes(testing::module_of("def @main(%x: float32) {\n  %x\n}\n"), *calls,
                          ops::operators()));
}

}  // namespace
}  // namespace tessera::passes
