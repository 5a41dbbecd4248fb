// SPDX-License-Identifier: Apache-2.0
#include "passes/quantize_blocks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::passes {
namespace {

// What the integers stand for, by the operator's own evaluation: [columns, terms].
std::vector<double> dequantized(const QuantizedMatrix& q) {
  relay::FunctionBuilder b;
  const relay::NodeId y =
      b.call(ops::op("qnn.dequantize_blocks"),
             {b.constant(q.data), b.constant(q.scale), b.constant(q.zero_point)},
             relay::write_attrs(q.attrs));
  Module module;
  module.functions["main"] = b.finish(y);
  module = ops::infer_types(std::move(module)).value();
  const auto outputs = ops::evaluate(module, module.functions.at("main"), {});
  std::vector<double> values;
  for (std::int64_t i = 0; i < outputs.at(0).num_elements(); ++i) {
    values.push_back(element_as_double(outputs[0], i));
  }
  return values;
}

std::vector<float> waves(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(std::sin(static_cast<float>(i) * 1.7F) * (1 + static_cast<float>(i % 7)));
  }
  return values;
}

struct Case {
  std::int64_t bits;
  bool is_symmetric;
  double most_error;  // of an element, in steps of its group
};

class EachForm : public ::testing::TestWithParam<Case> {};

// Whichever way round the matrix lies; the last group is not whole, and one row ends in a byte.
TEST_P(EachForm, IsAsCloseAsItsStepsAllow) {
  const auto [bits, is_symmetric, most_error] = GetParam();
  constexpr std::int64_t kColumns = 3, kTerms = 75;
  const std::vector<float> rows = waves(kColumns * kTerms);
  std::vector<float> columns(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    columns[i % kTerms * kColumns + i / kTerms] = rows[i];
  const WeightForm form{bits, 32, is_symmetric};
  const QuantizedMatrix q =
      quantize_blocks(Tensor::of<float>({kColumns, kTerms}, kFloat32, rows), true, form);
  const QuantizedMatrix turned =
      quantize_blocks(Tensor::of<float>({kTerms, kColumns}, kFloat32, columns), false, form);
  EXPECT_TRUE(q.data == turned.data && q.scale == turned.scale);
  EXPECT_TRUE(q.zero_point == turned.zero_point);
  EXPECT_EQ(q.scale.shape, (std::vector<std::int64_t>{kColumns, 3}));
  const std::vector<double> found = dequantized(q);
  ASSERT_EQ(found.size(), rows.size());
  double square = 0, norm = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t group = i / kTerms * 3 + i % kTerms / 32;
    const double step = std::abs(q.scale.as<float>()[group]), off = std::abs(found[i] - rows[i]);
    EXPECT_LE(off, most_error * step + 1e-6) << i;
    square += off * off;
    norm += rows[i] * rows[i];
  }
  EXPECT_NEAR(q.error, std::sqrt(square / norm), 1e-6);
  EXPECT_LT(q.error, bits == 8 ? 0.005 : 0.1);
}

// The scale of symmetric groups that makes the largest the lowest integer cuts off its negative.
INSTANTIATE_TEST_SUITE_P(All, EachForm,
                         ::testing::Values(Case{4, true, 1}, Case{4, false, 1}, Case{8, true, 1},
                                           Case{8, false, 1}),
                         [](const auto& info) {
                           return (info.param.bits == 4 ? "int4" : "int8") +
                                  std::string(info.param.is_symmetric ? "_symmetric"
                                                                      : "_asymmetric");
                         });

TEST(QuantizeBlocks, ZerosAndOneSignStayExact) {
  std::vector<float> values(64, 0);
  for (std::size_t i = 32; i < 64; ++i)
    values[i] = -3.75F;  // 8 and 15 parts of it are numbers of bfloat16
  const Tensor matrix = Tensor::of<float>({1, 64}, kFloat32, values);
  for (const bool is_symmetric : {true, false}) {
    const std::vector<double> found =
        dequantized(quantize_blocks(matrix, true, {4, 32, is_symmetric}));
    for (std::size_t i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(found[i], values[i]) << i;
  }
}

TEST(QuantizeBlocks, NothingAtAll) {
  const Tensor matrix = Tensor::of<float>({2, 32}, kFloat32, std::vector<float>(64, 0));
  EXPECT_EQ(quantize_blocks(matrix, true, {4, 32, true}).error, 0);
}

}  // namespace
}  // namespace tessera::passes
