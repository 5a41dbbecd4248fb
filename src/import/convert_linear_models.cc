// SPDX-License-Identifier: Apache-2.0
// LinearRegressor and LinearClassifier of ai.onnx.ml.
#include <fmt/format.h>

#include "import/converters.h"
#include "import/estimators.h"

namespace tessera::import {
namespace {

// A product of each row with each row of the coefficients, plus an intercept for each of these.
Value linear(Node& n, Value x, std::int64_t rows, const std::vector<double>& intercepts) {
  const std::vector<double> coefficients = n.floats_attr("coefficients");
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (rows <= 0 || count == 0 || count % rows != 0) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("its {} coefficients cannot be divided into {} rows", count, rows));
  }
  const std::int64_t features = count / rows;
  if (const auto given = x.dim(1).as_constant()) {
    expect_length(n, "coefficients", coefficients.size(), rows * *given);
  }
  const Value weights = numbers(n, {rows, features}, coefficients, kFloat32);
  const Value y = {n, n.call("nn.dense", {x, weights}, {{"units", relay::AttrValue()}})};
  if (intercepts.empty()) return y;
  expect_length(n, "intercepts", intercepts.size(), rows);
  return y + numbers(n, {rows}, intercepts, kFloat32);
}

std::vector<NodeId> convert_linear_regressor(Node& n) {
  const Value x = feature_rows(n).cast(kFloat32);
  const Value y = linear(n, x, n.int_attr("targets", 1), n.floats_attr("intercepts"));
  return {transformed_targets(y, post_transform_attr(n))};
}

// One row of coefficients for two classes is the second one's.
std::vector<NodeId> convert_linear_classifier(Node& n) {
  const Value x = feature_rows(n).cast(kFloat32);
  const Classes classes = classes_attr(n, "classlabels_ints");
  const PostTransform transform = post_transform_attr(n);
  n.ignore_attr("multi_class");  // how it was trained
  const std::vector<double> intercepts = n.floats_attr("intercepts");
  const auto rows =
      intercepts.empty() ? classes.count : static_cast<std::int64_t>(intercepts.size());
  const Value scores = linear(n, x, rows, intercepts);
  if (rows == 1 && classes.count == 2) {
    const Value place = (scores > 0.0).cast(kInt64).squeeze(1);
    return {labels_at(classes, place), both_classes(scores, true, transform)};
  }
  expect_length(n, "intercepts", static_cast<std::size_t>(rows), classes.count);
  if (rows == 1) n.unsupported("a single class");
  const Value place = scores.apply("argmax", {{"axis", Ints{1}}, {"dtype", kInt64}});
  return {labels_at(classes, place), transformed(scores, transform)};
}

constexpr Converter kLinearModelsTable[] = {
    {"ai.onnx.ml.LinearRegressor", 1, convert_linear_regressor},
    {"ai.onnx.ml.LinearClassifier", 1, convert_linear_classifier},
};

}  // namespace

extern const std::span<const Converter> linear_models_converters;
const std::span<const Converter> linear_models_converters = kLinearModelsTable;

}  // namespace tessera::import
