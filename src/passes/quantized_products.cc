// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized_products.h"

#include <algorithm>

#include "ops/attrs/conv.h"
#include "passes/row_product.h"
#include "passes/widening_rules.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

// The axis of the weight that becomes one of the result.
std::optional<std::size_t> output_axis(const relay::Function& f, NodeId id) {
  if (is_convolution(f.op(id)->name)) {
    const auto p = relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(id)->attrs);
    const bool is_usual = p.kernel_layout.starts_with("OI") && p.data_layout.starts_with("NC") &&
                          p.out_layout.empty();
    return is_usual ? std::optional<std::size_t>(0) : std::nullopt;
  }
  const auto p = row_product(f, id);
  if (!p || f.type(p->matrix).rank() != 2) return std::nullopt;
  return p->has_rows_of_terms ? 0 : 1;
}

// Of each sum.
Dim terms_of(const Type& weight, std::size_t axis) {
  Dim terms = 1;
  for (std::size_t i = 0; i < weight.rank(); ++i) {
    if (i != axis) terms = terms * weight.shape()[i];
  }
  return terms;
}

// Of windows of 3 by 3 over many places and channels generated code computes four sums or sixteen
// with fewer products of floats than pairs of integers save
// (bench/results/2026-11-27-native-integers.md; schedule/winograd.cc).
bool is_less_work_in_floats(const relay::Function& f, NodeId id) {
  constexpr std::int64_t kLeastChannels = 48, kLeastPlaces = 400;
  if (f.op(id)->name != "nn.conv2d") return false;
  const auto p = relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(id)->attrs);
  const auto weight = *constant_shape(f.type(f.operands(id)[1]).shape());
  const auto result = constant_shape(f.type(id).shape());
  if (!result) return false;  // which has no Winograd
  const auto is_one = [](std::int64_t n) { return n == 1; };
  return std::ranges::all_of(p.strides, is_one) && std::ranges::all_of(p.dilation, is_one) &&
         weight[2] == 3 && weight[3] == 3 && std::min(weight[0], weight[1]) >= kLeastChannels &&
         (*result)[2] * (*result)[3] >= kLeastPlaces;
}

class Checks {
 public:
  Checks(const QuantizedValues& values, NodeId id)
      : values_(values), f_(values.function()), id_(id) {}

  // Nothing: the product may be one of integers.
  std::optional<std::string_view> refusal(IntegerProducts products) {
    const auto [data, matrix] = std::pair(f_.operands(id_)[0], f_.operands(id_)[1]);
    const auto x = values_.find(data, kFloat32), weight = values_.find(matrix, kFloat32);
    if (!x) return "its data are floats";
    if (!weight || values_.constant(weight->x) == nullptr)
      return "its weight is no constant of bytes";
    found = {*x, *weight};
    if (products == IntegerProducts::kNone) return "nothing here multiplies integers of its kind";
    const auto axis = output_axis(f_, id_);
    if (!axis) return "of its layout there are no products of integers";
    if (const auto why = wrong_scales(*axis)) return why;
    if (!fits_int8(*weight)) return "its weight less the zero point does not fit int8";
    const Dim terms = terms_of(f_.type(weight->x), *axis);
    if (!fits_int32(terms)) return "sums of so many terms may not fit int32";
    return products == IntegerProducts::kPairs ? without_pairs(terms) : std::nullopt;
  }

  QuantizedProduct found{};

 private:
  std::optional<std::string_view> wrong_scales(std::size_t axis) const {
    if (!has_known_zero_point(found.x)) return "the zero point of its data is no constant";
    if (!has_known_zero_point(found.weight)) return "its weight has several zero points";
    if (!has_one_element(f_.type(found.x.scale))) return "its data have several scales";
    if (values_.has_scale_along(found.weight, axis)) return std::nullopt;
    return "scales of its weight lie along the terms of the sums";
  }

  std::optional<std::string_view> without_pairs(const Dim& terms) const {
    if (is_convolution(f_.op(id_)->name)) {
      if (const auto why = unpaired(f_, id_)) return why;
      if (is_less_work_in_floats(f_, id_)) return "Winograd's sums of floats are less work";
      return std::nullopt;
    }
    const auto number = terms.as_constant();
    if (number && *number % 2 == 0) return std::nullopt;
    return "the number of its terms is odd";
  }

  bool has_known_zero_point(const Quantized& q) const {
    return !values_.has_zero_point(q) ||
           (values_.constant(q.zero) != nullptr && has_one_element(f_.type(q.zero)) &&
            values_.is_zero_point_of(q.zero, f_.type(q.x).dtype()));
  }

  // Without its zero point: what is wider would be multiplied by nobody but generated code.
  bool fits_int8(const Quantized& weight) const {
    const Tensor& data = *values_.constant(weight.x);
    const bool is_shifted = values_.has_zero_point(weight);
    if (data.dtype == kInt8 && !is_shifted) return true;
    const double zero = is_shifted ? element_as_double(*values_.constant(weight.zero), 0) : 0;
    for (std::int64_t i = 0; i < data.num_elements(); ++i) {
      const double value = static_cast<double>(element_as_int(data, i)) - zero;
      if (value < -128 || value > 127) return false;
    }
    return true;
  }

  const QuantizedValues& values_;
  const relay::Function& f_;
  const NodeId id_;
};

}  // namespace

std::optional<IntegerProducts> parse_integer_products(std::string_view word) {
  if (word == "none") return IntegerProducts::kNone;
  if (word == "all") return IntegerProducts::kAll;
  return word == "pairs" ? std::optional(IntegerProducts::kPairs) : std::nullopt;
}

bool is_float_product(const relay::Function& f, NodeId id) {
  const relay::Operator* op = f.op(id);
  if (op == nullptr || !f.type(id).is_tensor() || f.type(id).dtype() != kFloat32) return false;
  return is_convolution(op->name) || multiplies_matrices(op->name);
}

std::optional<QuantizedProduct> quantized_product(const QuantizedValues& values, NodeId id,
                                                  IntegerProducts products, std::string_view& why) {
  Checks checks(values, id);
  const auto refusal = checks.refusal(products);
  if (!refusal) return checks.found;
  why = *refusal;
  return std::nullopt;
}

}  // namespace tessera::passes
