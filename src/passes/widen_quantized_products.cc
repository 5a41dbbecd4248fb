// SPDX-License-Identifier: Apache-2.0
// A product or convolution of what a model dequantised is one of int32 that was bytes, with both
// scales applied to the sums: for back ends that multiply such integers, zero points among them
// (capability widened_products).
#include "passes/pass.h"
#include "passes/quantized_products.h"
#include "passes/widening_rules.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

struct WidenQuantizedProductsOptions {
  bool pairs = false;  // only what generated code multiplies by pairs
  static constexpr auto fields =
      std::tuple{relay::attr("pairs", &WidenQuantizedProductsOptions::pairs)};
  IntegerProducts products() const {
    return pairs ? IntegerProducts::kPairs : IntegerProducts::kAll;
  }
};

class Widener {
 public:
  Widener(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators,
          IntegerProducts products)
      : f_(f), values_(f, pool, operators), products_(products) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return product(c, id); });
  }

 private:
  std::optional<NodeId> product(Copier& c, NodeId id) const {
    if (f_[id].region != Function::kBody || !is_float_product(f_, id)) return std::nullopt;
    std::string_view why;
    const auto found = quantized_product(values_, id, products_, why);
    if (!found) return std::nullopt;
    const auto& [x, weight] = *found;
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    relay::Attrs attrs = call.attrs;
    if (attrs.find("out_dtype") != nullptr) attrs.set("out_dtype", kInt32);
    const NodeId sums =
        c.builder().call(*call.op, {integers(c, x), integers(c, weight)}, std::move(attrs));
    return values_.call(c, "multiply",
                        {values_.cast(c, sums, kFloat32), scale_of_sums(c, id, x, weight)});
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
  const IntegerProducts products_;
};

Result<Module> run_widen_quantized_products(Module module, PassContext& context) {
  const auto options = relay::read_attrs<WidenQuantizedProductsOptions>(context.options);
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Widener(f, pool, context.operators, options.products()).run();
  });
}

}  // namespace

extern const Pass widen_quantized_products;
const Pass widen_quantized_products{
    .name = "widen-quantized-products",
    .summary = "multiplies and convolves what was dequantised as int32, and scales the sums",
    .options = relay::attr_schema<WidenQuantizedProductsOptions>,
    .run = run_widen_quantized_products,
};

}  // namespace tessera::passes
