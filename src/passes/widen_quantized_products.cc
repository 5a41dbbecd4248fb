// SPDX-License-Identifier: Apache-2.0
// A product or convolution of what a model dequantised is one of int32 that was bytes, with both
// scales applied to the sums: for back ends that multiply such integers, zero points among them
// (capability widened_products).
#include <algorithm>

#include "ops/attrs/conv.h"
#include "passes/pass.h"
#include "passes/quantized_values.h"
#include "passes/row_product.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

constexpr std::string_view kConvolutions[] = {"nn.conv1d", "nn.conv2d", "nn.conv3d"};

bool is_convolution(std::string_view name) {
  return std::ranges::find(kConvolutions, name) != std::end(kConvolutions);
}

class Widener {
 public:
  Widener(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), values_(f, pool, operators) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return product(c, id); });
  }

 private:
  // The axis of the weight that becomes one of the result; nothing for what is no product.
  std::optional<std::size_t> output_axis(NodeId id) const {
    const relay::Operator* op = f_.op(id);
    if (op == nullptr || f_[id].region != Function::kBody || !f_.type(id).is_tensor() ||
        f_.type(id).dtype() != kFloat32) {
      return std::nullopt;
    }
    if (is_convolution(op->name)) {
      const auto p = relay::read_attrs<ops::Conv2DAttrs>(f_.as<relay::OpCall>(id)->attrs);
      const bool is_usual = p.kernel_layout.starts_with("OI") && p.data_layout.starts_with("NC") &&
                            p.out_layout.empty();
      return is_usual ? std::optional<std::size_t>(0) : std::nullopt;
    }
    const auto p = row_product(f_, id);
    if (!p || f_.type(p->matrix).rank() != 2) return std::nullopt;
    return p->has_rows_of_terms ? 0 : 1;
  }

  std::optional<NodeId> product(Copier& c, NodeId id) const {
    const auto axis = output_axis(id);
    if (!axis) return std::nullopt;
    const auto x = values_.find(f_.operands(id)[0], kFloat32),
               weight = values_.find(f_.operands(id)[1], kFloat32);
    if (!x || !weight || values_.constant(weight->x) == nullptr) return std::nullopt;
    if (!has_known_zero_point(*x) || !has_known_zero_point(*weight)) return std::nullopt;
    if (!fits_int8(*weight) || !fits_int32(terms_of(f_.type(weight->x), *axis)))
      return std::nullopt;
    if (!has_one_element(f_.type(x->scale)) || !values_.has_scale_along(*weight, *axis)) {
      return std::nullopt;
    }
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    relay::Attrs attrs = call.attrs;
    if (attrs.find("out_dtype") != nullptr) attrs.set("out_dtype", kInt32);
    const NodeId sums =
        c.builder().call(*call.op, {integers(c, *x), integers(c, *weight)}, std::move(attrs));
    return values_.call(c, "multiply",
                        {values_.cast(c, sums, kFloat32), scale_of_sums(c, id, *x, *weight)});
  }

  bool has_known_zero_point(const Quantized& q) const {
    return !values_.has_zero_point(q) ||
           (values_.constant(q.zero) != nullptr && has_one_element(f_.type(q.zero)) &&
            values_.is_zero_point_of(q.zero, f_.type(q.x).dtype()));
  }

  // Of each sum.
  static Dim terms_of(const Type& weight, std::size_t axis) {
    Dim terms = 1;
    for (std::size_t i = 0; i < weight.rank(); ++i) {
      if (i != axis) terms = terms * weight.shape()[i];
    }
    return terms;
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

  NodeId integers(Copier& c, const Quantized& q) const {
    const NodeId wide = values_.cast(c, c.map(q.x), kInt32);
    if (!values_.has_zero_point(q)) return wide;
    return values_.call(c, "subtract", {wide, values_.cast(c, values_.flat(c, q.zero), kInt32)});
  }

  // A scalar, or along the channels of a convolution or the last dimension of a product.
  NodeId scale_of_sums(Copier& c, NodeId id, const Quantized& x, const Quantized& weight) const {
    const NodeId scale = values_.scale(c, x, weight);
    if (!is_convolution(f_.op(id)->name) || has_one_element(f_.type(weight.scale))) return scale;
    std::vector<std::int64_t> shape(f_.type(id).rank() - 1, 1);
    shape[0] = -1;
    return values_.call(c, "reshape", {scale}, {{"newshape", shape}});
  }

  const Function& f_;
  const QuantizedValues values_;
};

Result<Module> run_widen_quantized_products(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Widener(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass widen_quantized_products;
const Pass widen_quantized_products{
    .name = "widen-quantized-products",
    .summary = "multiplies and convolves what was dequantised as int32, and scales the sums",
    .run = run_widen_quantized_products,
};

}  // namespace tessera::passes
