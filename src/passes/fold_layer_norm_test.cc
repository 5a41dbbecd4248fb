// SPDX-License-Identifier: Apache-2.0
// That folded norms compute what they did where a row's mean is many times its deviation.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "ops/evaluation/evaluate.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/balanced_rounding.h"
#include "passes/manager.h"

namespace tessera::passes {
namespace {

std::vector<double> normal(std::size_t count, double mean, double deviation) {
  std::mt19937 random(7);
  std::normal_distribution<double> of(mean, deviation);
  std::vector<double> values(count);
  for (double& v : values) v = of(random);
  return values;
}

// ---- Rounding

class CenteredColumns : public ::testing::TestWithParam<std::pair<DType, bool>> {};

TEST_P(CenteredColumns, SumUpToZeroAndAreNear) {
  const auto [dtype, is_column_major] = GetParam();
  const MatrixLayout layout{1024, 24, is_column_major};
  const std::vector<double> given = normal(layout.rows * layout.columns, 0.01, 0.02);
  std::vector<double> found = given;
  center_columns(found, layout, dtype);
  const Tensor rounded = tensor_from_doubles({1024, 24}, dtype, found);
  EXPECT_EQ(ops::values_of<double>(rounded), found);          // numbers of the type
  const double digit = dtype == kFloat16 ? 0x1p-11 : 0x1p-8;  // relative
  for (std::size_t column = 0; column < layout.columns; ++column) {
    double mean = 0, sum = 0;
    for (std::size_t row = 0; row < layout.rows; ++row) {
      mean += given[layout.at(row, column)] / 1024;
    }
    for (std::size_t row = 0; row < layout.rows; ++row) {
      const double wanted = given[layout.at(row, column)] - mean,
                   is = found[layout.at(row, column)];
      sum += is;
      EXPECT_LE(std::abs(is - wanted), 1.6 * digit * std::abs(wanted) + 0.1 * digit);
    }
    EXPECT_LE(std::abs(sum), 1e-3 * digit);
  }
}

INSTANTIATE_TEST_SUITE_P(Matrices, CenteredColumns,
                         ::testing::Values(std::pair(kFloat16, false), std::pair(kFloat16, true),
                                           std::pair(kBFloat16, false),
                                           std::pair(kBFloat16, true)));

// ---- The pass

// With constants that are numbers of `stored`, computed in `dtype`.
Module norm_and_product(DType stored, DType dtype) {
  constexpr std::int64_t kRows = 16, kTerms = 1024, kColumns = 32;
  relay::FunctionBuilder b;
  const auto constant = [&](std::vector<std::int64_t> shape, double mean, double deviation) {
    const auto count = static_cast<std::size_t>(shape.size() == 1 ? kTerms : kTerms * kColumns);
    const Tensor t = tensor_from_doubles(std::move(shape), stored, normal(count, mean, deviation));
    return b.constant(tensor_from_doubles(t.shape, dtype, ops::values_of<double>(t)));
  };
  const relay::NodeId x = b.param("x", tensor_type({kRows, kTerms}, dtype));
  const relay::NodeId norm = b.call(*ops::operators().find("nn.layer_norm"),
                                    {x, constant({kTerms}, 1, 0.1), constant({kTerms}, 0, 0.1)});
  Module module;
  module.functions["main"] =
      b.finish(b.call(*ops::operators().find("nn.dense"),
                      {norm, constant({kColumns, kTerms}, 0.005, 0.02)}, {{"units", kColumns}}));
  return ops::infer_types(std::move(module)).value();
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const ops::Elements<double> x = ops::values_of<double>(a), y = ops::values_of<double>(b);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

TEST(FoldLayerNorm, IsAsNearWhateverTheMeanOfRows) {
  const auto calls = parse_pipeline("fold-layer-norm{least_bytes=1}", all_passes()).value();
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Module before = norm_and_product(dtype, dtype);
    const Module exact = norm_and_product(dtype, kFloat64);
    const Module after =
        ops::infer_types(run_passes(before, calls, ops::operators(), {}).value().module).value();
    for (const double mean : {0.0, 1.0, 10.0, 40.0}) {
      const Tensor x =
          tensor_from_doubles({16, 1024}, dtype, normal(std::size_t{16} * 1024, mean, 1));
      const Tensor wide = tensor_from_doubles(x.shape, kFloat64, ops::values_of<double>(x));
      const auto error_of = [&](const Module& m) {
        const auto found = ops::evaluate(m, m.functions.at("main"), {&x, 1});
        const auto wanted = ops::evaluate(exact, exact.functions.at("main"), {&wide, 1});
        return largest_difference(found.at(0), wanted.at(0));
      };
      EXPECT_LE(error_of(after), 1.5 * error_of(before)) << to_string(dtype) << " mean " << mean;
    }
  }
}

}  // namespace
}  // namespace tessera::passes
