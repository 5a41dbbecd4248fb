// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/matmul.h"
#include "passes/pass.h"
#include "passes/quantized_values.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::is_call_of;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

// A matrix, or a batch of them: is it stored with its last two dimensions the other way round?
struct Operand {
  Quantized value;
  bool is_transposed = false;
};

class QuantizedProductConverter {
 public:
  QuantizedProductConverter(const Function& f, const ConstantPool& pool,
                            const relay::OperatorTable& operators)
      : f_(f), values_(f, pool, operators) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) {
      const auto convolution = integer_convolution(c, values_, id);
      return convolution ? convolution : product(c, id);
    });
  }

 private:
  // ---- What is there

  std::optional<Operand> operand(NodeId id, bool is_transposed, DType wide) const {
    const Type& type = f_.type(id);
    if (is_call_of(f_, id, "transpose") && type.is_tensor() && type.shape().size() == 2 &&
        f_.type(f_.operands(id)[0]).shape() != type.shape()) {
      is_transposed = !is_transposed;
      id = f_.operands(id)[0];
    }
    const auto value = values_.find(id, wide);
    return value ? std::optional(Operand{*value, is_transposed}) : std::nullopt;
  }

  struct Product {
    Operand a, b;
    bool is_float = false;
  };

  std::optional<Product> described(NodeId id) const {
    if (f_[id].region != Function::kBody) return std::nullopt;
    bool transpose_a = false, transpose_b = true;
    if (is_call_of(f_, id, "nn.matmul")) {
      const auto attrs = relay::read_attrs<ops::MatmulAttrs>(f_.as<relay::OpCall>(id)->attrs);
      transpose_a = attrs.transpose_a, transpose_b = attrs.transpose_b;
    } else if (is_call_of(f_, id, "nn.batch_matmul")) {
      const auto attrs = relay::read_attrs<ops::BatchMatmulAttrs>(f_.as<relay::OpCall>(id)->attrs);
      transpose_a = attrs.transpose_a, transpose_b = attrs.transpose_b;
    } else if (!is_call_of(f_, id, "nn.dense")) {
      return std::nullopt;
    }
    const DType wide = f_.type(id).dtype();
    if (wide != kInt32 && wide != kFloat32) return std::nullopt;
    const auto a = operand(f_.operands(id)[0], transpose_a, wide);
    const auto b = operand(f_.operands(id)[1], transpose_b, wide);
    if (!a || !b || a->is_transposed) return std::nullopt;
    const Product p{*a, *b, wide == kFloat32};
    return is_convertible(p) ? std::optional(p) : std::nullopt;
  }

  bool is_convertible(const Product& p) const {
    const auto [a, b] = std::pair(p.a.value, p.b.value);
    const bool is_shifted = values_.has_zero_point(a) || values_.has_zero_point(b);
    if (is_shifted && f_.type(b.x).shape().size() != 2) return false;
    const Shape& shape = f_.type(b.x).shape();
    const std::size_t last = shape.size() - 1, columns = p.b.is_transposed ? last - 1 : last;
    if (!values_.suits_integers(a, b)) return false;
    if (p.is_float && !values_.has_scale_along(b, columns)) return false;
    // Rows of words of 32 bits.
    const Dim& terms = shape[p.b.is_transposed ? last : last - 1];
    return fits_int32(terms) && terms.constant() % 4 == 0;
  }

  // ---- What is made

  std::optional<NodeId> product(Copier& c, NodeId id) const {
    const auto p = described(id);
    if (!p) return std::nullopt;
    const NodeId b = along_k(c, p->b);
    NodeId sums = sums_of(c, id, c.map(p->a.value.x), b);
    if (values_.has_zero_point(p->a.value)) {
      const NodeId offset = values_.offset(c, p->a.value, b, {1});
      sums = values_.call(c, "subtract", {sums, offset});
    }
    if (!p->is_float) return sums;
    const NodeId scale = values_.scale(c, p->a.value, p->b.value);
    return values_.call(c, "multiply", {values_.cast(c, sums, kFloat32), scale});
  }

  // The second operand, stored the other way round, without the zero point of uint8.
  NodeId along_k(Copier& c, const Operand& b) const {
    const NodeId x = values_.stored(c, b.value);
    if (b.is_transposed) return x;
    Ints axes;
    for (std::size_t i = 0; i < f_.type(b.value.x).shape().size(); ++i) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
    std::swap(axes[axes.size() - 2], axes.back());
    return values_.call(c, "transpose", {x}, {{"axes", axes}});
  }

  NodeId sums_of(Copier& c, NodeId id, NodeId a, NodeId b) const {
    const relay::AttrValue units;  // follows from the weight
    if (f_.type(f_.operands(id)[1]).shape().size() == 2) {
      return values_.call(c, "nn.dense", {a, b}, {{"units", units}, {"out_dtype", kInt32}});
    }
    if (is_call_of(f_, id, "nn.batch_matmul")) {
      return values_.call(c, "nn.batch_matmul", {a, b},
                          {{"out_dtype", kInt32}, {"transpose_b", true}});
    }
    return values_.call(c, "nn.matmul", {a, b},
                        {{"units", units}, {"out_dtype", kInt32}, {"transpose_b", true}});
  }

  const Function& f_;
  const QuantizedValues values_;
};

Result<Module> run_convert_quantized_products(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return QuantizedProductConverter(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass convert_quantized_products;
const Pass convert_quantized_products{
    .name = "convert-quantized-products",
    .summary =
        "multiplies and convolves integers of eight bits as such, where their zero points and "
        "scales can be applied to the sums",
    .run = run_convert_quantized_products,
};

}  // namespace tessera::passes
