// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml that prepare features: Scaler, Normalizer, Binarizer, Imputer, ...
#include <cmath>

#include <fmt/format.h>

#include "import/converters.h"
#include "import/estimators.h"
#include "import/indices.h"

namespace tessera::import {
namespace {

// A number for each feature, or one for all.
Value per_feature(Value x, std::string_view attribute, Tensor values) {
  Node& n = x.node();
  const std::int64_t count = values.num_elements();
  if (count == 1) return Value(n, n.constant(std::move(values))).reshape({});
  const auto features = n.dim(x, x.rank() - 1).as_constant();
  if (count == 0 || (features && *features != count)) {
    expect_length(n, attribute, static_cast<std::size_t>(count), features.value_or(1));
  }
  return {n, n.constant(std::move(values))};
}

Value per_feature(Value x, std::string_view attribute) {
  const std::vector<double> values = x.node().floats_attr(attribute);
  const auto count = static_cast<std::int64_t>(values.size());
  return per_feature(x, attribute, tensor_from_doubles({count}, x.dtype(), values));
}

// Rows of features, or one row, in the shape that they have.
Value features(Node& n) {
  feature_rows(n);
  return input(n, 0);
}

// What is not of float64 is computed in float32, as the result is.
Value as_float(Value x) { return x.dtype() == kFloat64 ? x : x.cast(kFloat32); }

std::vector<NodeId> convert_scaler(Node& n) {
  const Value x = as_float(features(n));
  return {((x - per_feature(x, "offset")) * per_feature(x, "scale")).cast(kFloat32)};
}

// A row whose norm is 0 stays.
std::vector<NodeId> convert_normalizer(Node& n) {
  const std::size_t norm = choice_attr(n, "norm", {"MAX", "L1", "L2"}, 0);
  const Value x = as_float(features(n));
  const Ints axes = {x.rank() - 1};
  const Value size = norm == 0   ? x.apply("max", {{"axis", axes}, {"keepdims", true}})
                     : norm == 1 ? x.apply("abs").sum(axes)
                                 : (x * x).sum(axes).apply("sqrt");
  return {(x / where(equal(size, 0.0), size.number(1), size)).cast(kFloat32)};
}

std::vector<NodeId> convert_binarizer(Node& n) {
  const Value x = input(n, 0);
  const Value compared = x.dtype().is_float() ? x : x.cast(kFloat64);
  return {(compared > n.float_attr("threshold", 0)).cast(x.dtype())};
}

std::vector<NodeId> convert_imputer(Node& n) {
  const Value x = features(n);
  if (!x.dtype().is_float()) {
    const Ints values = n.ints_attr("imputed_value_int64s");
    const auto count = static_cast<std::int64_t>(values.size());
    const Value replaced = {n, n.ints({n.int_attr("replaced_value_int64", 0)}, x.dtype())};
    return {where(
        equal(x, replaced.reshape({})),
        per_feature(x, "imputed_value_int64s", tensor_from_ints({count}, x.dtype(), values)), x)};
  }
  const double replaced = n.float_attr("replaced_value_float", 0);
  const Value is_missing = std::isnan(replaced) ? x.apply("isnan") : equal(x, replaced);
  return {where(is_missing, per_feature(x, "imputed_value_floats"), x)};
}

// Columns by their indices, in the order of these.
std::vector<NodeId> convert_array_feature_extractor(Node& n) {
  const Value x = input(n, 0);
  if (x.rank() == 0) n.invalid(Code::kShapeMismatch, "its input is a scalar");
  const Value rows = x.rank() == 1 ? x.expand_dims(0) : x;
  const Value indices = input(n, 1);
  return {take_checked(rows, indices.merge(0, indices.rank()), rows.rank() - 1)};
}

// The features of all inputs side by side.
std::vector<NodeId> convert_feature_vectorizer(Node& n) {
  const Ints widths = n.ints_attr("inputdimensions");
  expect_length(n, "inputdimensions", widths.size(), static_cast<std::int64_t>(n.num_inputs()));
  std::vector<Value> parts;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    Value part = input(n, i);
    if (part.rank() == 1) part = part.expand_dims(0);
    if (part.rank() != 2 || part.size(1) != widths[i]) {
      n.invalid(Code::kShapeMismatch,
                fmt::format("its input {} has the shape {}, and its `inputdimensions` say {} "
                            "features",
                            i, to_string(part.shape()), widths[i]));
    }
    parts.push_back(part.cast(kFloat32));
  }
  if (parts.empty()) n.invalid(Code::kWrongArity, "it needs an input");
  return {concat(n, parts, 1)};
}

// A list of maps from classes to scores is no tensor: the scores are what it was made of.
std::vector<NodeId> convert_zip_map(Node& n) {
  n.ignore_attr("classlabels_int64s");
  n.ignore_attr("classlabels_strings");
  const Value scores = input(n, 0);
  n.warn(
      "a list of maps from classes to scores is no tensor: its output is the scores themselves, "
      "one column for each class",
      "convert the model with the option `zipmap=False` of skl2onnx, which omits the node");
  return {scores};
}

constexpr Converter kFeaturesTable[] = {
    {"ai.onnx.ml.Scaler", 1, convert_scaler},
    {"ai.onnx.ml.Normalizer", 1, convert_normalizer},
    {"ai.onnx.ml.Binarizer", 1, convert_binarizer},
    {"ai.onnx.ml.Imputer", 1, convert_imputer},
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, convert_array_feature_extractor},
    {"ai.onnx.ml.FeatureVectorizer", 1, convert_feature_vectorizer},
    {"ai.onnx.ml.ZipMap", 1, convert_zip_map},
};

}  // namespace

extern const std::span<const Converter> features_converters;
const std::span<const Converter> features_converters = kFeaturesTable;

}  // namespace tessera::import
