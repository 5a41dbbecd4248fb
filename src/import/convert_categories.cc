// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml for categories that are numbers: LabelEncoder, OneHotEncoder.
#include <cmath>

#include <fmt/format.h>

#include "import/converters.h"
#include "import/estimators.h"
#include "import/indices.h"

namespace tessera::import {
namespace {

// A list of numbers that one of several attributes has, by the type of its elements.
std::optional<Tensor> list_attr(Node& n, const std::string& what) {
  if (n.has_attr(what + "_strings")) n.unsupported(fmt::format("its `{}_strings`", what));
  const auto shape = [](const auto& values) {
    return std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())};
  };
  if (n.has_attr(what + "_int64s")) {
    const Ints values = n.ints_attr(what + "_int64s");
    return tensor_from_ints(shape(values), kInt64, values);
  }
  if (n.has_attr(what + "_floats")) {
    const std::vector<double> values = n.floats_attr(what + "_floats");
    return tensor_from_doubles(shape(values), kFloat32, values);
  }
  return n.tensor_attr(what + "_tensor");
}

// What a key that is not in the list becomes.
Value default_value(Node& n, DType dtype) {
  for (const char* name : {"default_string", "default_int64", "default_float"}) n.ignore_attr(name);
  if (const auto tensor = n.tensor_attr("default_tensor")) {
    if (tensor->num_elements() != 1) {
      expect_length(n, "default_tensor", static_cast<std::size_t>(tensor->num_elements()), 1);
    }
    return Value(n, n.constant(*tensor)).reshape({}).cast(dtype);
  }
  if (dtype.is_float()) return {n, n.scalar(n.float_attr("default_float", -0.0), dtype)};
  return Value(n, n.ints({n.int_attr("default_int64", -1)}, dtype)).reshape({});
}

// Where each element is in the list of keys: the first place, or anything where `found` is false.
struct Lookup {
  Value place, found;
};

Lookup look_up(Value x, Value keys, bool finds_nan = false) {
  const Value each = x.expand_dims(x.rank());
  Value hit = equal(each, keys);
  if (finds_nan && x.dtype().is_float()) hit = hit || (each.apply("isnan") && keys.apply("isnan"));
  const Ints last = {x.rank()};
  return {hit.cast(kInt32).apply("argmax", {{"axis", last}, {"dtype", kInt64}}),
          hit.apply("any", {{"axis", last}})};
}

std::vector<NodeId> convert_label_encoder(Node& n) {
  if (n.has_attr("classes_strings")) n.unsupported("its `classes_strings`");
  const Value x = input(n, 0);
  const auto keys = list_attr(n, "keys"), values = list_attr(n, "values");
  if (!keys || !values) n.invalid(Code::kWrongAttribute, "it has no keys or no values");
  if (keys->dtype != x.dtype()) {
    n.invalid(Code::kDtypeMismatch, fmt::format("its keys are {}, and its input is {}",
                                                to_string(keys->dtype), to_string(x.dtype())));
  }
  if (keys->num_elements() == 0 || keys->shape.size() != 1) {
    n.invalid(Code::kWrongAttribute, "its keys are no list of one element or more");
  }
  expect_length(n, "values", static_cast<std::size_t>(values->num_elements()),
                keys->num_elements());
  const Value known = Value(n, n.constant(*values)).reshape({values->num_elements()});
  // NaN is a key since version 4, as onnxruntime has it.
  const Lookup found = look_up(x, Value(n, n.constant(*keys)), n.domain_opset() >= 4);
  return {where(found.found, known.take(found.place, 0), default_value(n, values->dtype))};
}

// With zeros = 0 a category that is not in the list ends the run.
std::vector<NodeId> convert_one_hot_encoder(Node& n) {
  if (n.has_attr("cats_strings")) n.unsupported("its `cats_strings`");
  const Value x = input(n, 0).cast(kInt64);
  const Ints categories = n.need_ints_attr("cats_int64s");
  const auto count = static_cast<std::int64_t>(categories.size());
  if (count == 0) n.invalid(Code::kWrongAttribute, "its `cats_int64s` are none");
  const Lookup found = look_up(x, Value(n, n.ints(categories)));
  const Value places = iota(n, count);
  Value place = where(found.found, found.place, found.place.number(static_cast<double>(count)));
  if (!n.flag_attr("zeros", true)) place = {n, checked_indices(n, place, places, {0})};
  return {equal(place.expand_dims(x.rank()), places).cast(kFloat32)};
}

constexpr Converter kCategoriesTable[] = {
    {"ai.onnx.ml.LabelEncoder", 1, convert_label_encoder},
    {"ai.onnx.ml.OneHotEncoder", 1, convert_one_hot_encoder},
};

}  // namespace

extern const std::span<const Converter> categories_converters;
const std::span<const Converter> categories_converters = kCategoriesTable;

}  // namespace tessera::import
