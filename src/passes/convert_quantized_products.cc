// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <span>

#include "ops/attrs/matmul.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

// (x - zero) * scale in a wider type, x of eight bits. Without a zero point, and where the wider
// type is int32 without a scale, those are invalid.
struct Quantized {
  NodeId x, zero, scale;
};

// A matrix, or a batch of them: is it stored with its last two dimensions the other way round?
struct Operand {
  Quantized value;
  bool is_transposed = false;
};

bool has_one_element(const Type& type) { return num_elements(type.shape()) == Dim(1); }

class Converter {
 public:
  Converter(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), pool_(pool), operators_(operators) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return product(c, id); });
  }

 private:
  bool is_call(NodeId id, std::string_view op) const {
    return f_.op(id) != nullptr && f_.op(id)->name == op;
  }

  // ---- What is there

  std::optional<Quantized> quantized(NodeId id, DType wide) const {
    Quantized q;
    if (wide == kFloat32) {
      if (!is_call(id, "multiply")) return std::nullopt;
      q.scale = f_.operands(id)[1];
      id = f_.operands(id)[0];
    }
    if (is_call(id, "subtract")) {
      q.zero = f_.operands(id)[1];
      id = f_.operands(id)[0];
    }
    if (!is_call(id, "cast") || f_.type(id).dtype() != wide) return std::nullopt;
    q.x = f_.operands(id)[0];
    const DType narrow = f_.type(q.x).dtype();
    return narrow.is_byte() ? std::optional(q) : std::nullopt;
  }

  std::optional<Operand> operand(NodeId id, bool is_transposed, DType wide) const {
    const Type& type = f_.type(id);
    if (is_call(id, "transpose") && type.is_tensor() && type.shape().size() == 2 &&
        f_.type(f_.operands(id)[0]).shape() != type.shape()) {
      is_transposed = !is_transposed;
      id = f_.operands(id)[0];
    }
    const auto value = quantized(id, wide);
    return value ? std::optional(Operand{*value, is_transposed}) : std::nullopt;
  }

  // The constant that a few views and casts of it come from.
  const Tensor* constant(NodeId id) const {
    constexpr int kMostSteps = 8;
    constexpr std::string_view kViews[] = {"cast", "reshape", "expand_dims", "squeeze",
                                           "transpose"};
    for (int i = 0; i < kMostSteps && f_.op(id) != nullptr; ++i) {
      const auto* const view = std::find(std::begin(kViews), std::end(kViews), f_.op(id)->name);
      if (view == std::end(kViews)) return nullptr;
      id = f_.operands(id)[0];
    }
    const auto* found = f_.as<relay::Constant>(id);
    return found == nullptr ? nullptr : &pool_.resolve(found->value);
  }

  bool holds_only(NodeId id, double value) const {
    const Tensor* tensor = constant(id);
    if (tensor == nullptr || tensor->num_elements() > 1 << 20) return false;
    for (std::int64_t i = 0; i < tensor->num_elements(); ++i) {
      if (element_as_double(*tensor, i) != value) return false;
    }
    return true;
  }
  bool has_zero_point(const Quantized& q) const { return q.zero && !holds_only(q.zero, 0); }
  // With this zero point uint8 is int8 plus 128.
  bool is_offset_int8(const Quantized& q) const {
    return q.zero && f_.type(q.x).dtype() == kUInt8 && holds_only(q.zero, 128);
  }

  // One scale, or one for each column of the product.
  bool has_scale_of_columns(const Operand& b) const {
    const Shape& scale = f_.type(b.value.scale).shape();
    const Shape& shape = f_.type(b.value.x).shape();
    if (num_elements(scale) == Dim(1)) return true;
    const std::size_t place = b.is_transposed ? 2 : 1;  // of the columns, from the end
    if (scale.size() < place || scale.size() > shape.size()) return false;
    const Dim& columns = shape[shape.size() - place];
    return scale[scale.size() - place] == columns && num_elements(scale) == columns;
  }

  struct Product {
    Operand a, b;
    bool is_float = false;
  };

  std::optional<Product> described(NodeId id) const {
    if (f_[id].region != Function::kBody) return std::nullopt;
    bool transpose_a = false, transpose_b = true;
    if (is_call(id, "nn.matmul")) {
      const auto attrs = relay::read_attrs<ops::MatmulAttrs>(f_.as<relay::OpCall>(id)->attrs);
      transpose_a = attrs.transpose_a, transpose_b = attrs.transpose_b;
    } else if (is_call(id, "nn.batch_matmul")) {
      const auto attrs = relay::read_attrs<ops::BatchMatmulAttrs>(f_.as<relay::OpCall>(id)->attrs);
      transpose_a = attrs.transpose_a, transpose_b = attrs.transpose_b;
    } else if (!is_call(id, "nn.dense")) {
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
    const bool is_weight =
        f_.type(p.b.value.x).shape().size() == 2 && constant(p.b.value.x) != nullptr;
    if (has_zero_point(p.b.value) && !(is_weight && is_offset_int8(p.b.value))) return false;
    const bool is_shifted = has_zero_point(p.a.value);
    if (is_shifted && (!is_weight || !has_one_element(f_.type(p.a.value.zero)))) return false;
    if (p.is_float && !(has_one_element(f_.type(p.a.value.scale)) && has_scale_of_columns(p.b))) {
      return false;
    }
    return suits_instructions(p.b);
  }

  // Rows of words of 32 bits, and sums that stay within int32, for which floats would have room.
  bool suits_instructions(const Operand& b) const {
    const Shape& shape = f_.type(b.value.x).shape();
    const auto terms = shape[shape.size() - (b.is_transposed ? 1 : 2)].as_constant();
    return terms && *terms % 4 == 0 &&
           *terms <= std::numeric_limits<std::int32_t>::max() / (255 * 255);
  }

  // ---- What is made

  NodeId call(Copier& c, std::string_view op, std::initializer_list<NodeId> operands,
              relay::Attrs attrs = {}) const {
    return c.builder().call(*operators_.find(op), operands, std::move(attrs));
  }
  NodeId cast(Copier& c, NodeId x, DType dtype) const {
    return call(c, "cast", {x}, {{"dtype", dtype}});
  }
  // A scalar of an old node of one element, else a vector.
  NodeId flat(Copier& c, NodeId old) const {
    const Ints shape = has_one_element(f_.type(old)) ? Ints{} : Ints{-1};
    return call(c, "reshape", {c.map(old)}, {{"newshape", shape}});
  }

  std::optional<NodeId> product(Copier& c, NodeId id) const {
    const auto p = described(id);
    if (!p) return std::nullopt;
    const NodeId b = along_k(c, p->b);
    NodeId sums = sums_of(c, id, c.map(p->a.value.x), b);
    if (has_zero_point(p->a.value)) {
      const NodeId columns = call(c, "sum", {cast(c, b, kInt32)}, {{"axis", Ints{1}}});
      const NodeId zero = cast(c, flat(c, p->a.value.zero), kInt32);
      sums = call(c, "subtract", {sums, call(c, "multiply", {columns, zero})});
    }
    if (!p->is_float) return sums;
    const NodeId scale =
        call(c, "multiply", {flat(c, p->b.value.scale), flat(c, p->a.value.scale)});
    return call(c, "multiply", {cast(c, sums, kFloat32), scale});
  }

  // The second operand, stored the other way round, without the zero point of uint8.
  NodeId along_k(Copier& c, const Operand& b) const {
    NodeId x = c.map(b.value.x);
    if (is_offset_int8(b.value)) {
      const std::int64_t offset = 128;
      const NodeId zero = c.builder().constant(tensor_from_ints({}, kInt32, std::span(&offset, 1)));
      x = cast(c, call(c, "subtract", {cast(c, x, kInt32), zero}), kInt8);
    }
    if (b.is_transposed) return x;
    Ints axes;
    for (std::size_t i = 0; i < f_.type(b.value.x).shape().size(); ++i) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
    std::swap(axes[axes.size() - 2], axes.back());
    return call(c, "transpose", {x}, {{"axes", axes}});
  }

  NodeId sums_of(Copier& c, NodeId id, NodeId a, NodeId b) const {
    const relay::AttrValue units;  // follows from the weight
    if (f_.type(f_.operands(id)[1]).shape().size() == 2) {
      return call(c, "nn.dense", {a, b}, {{"units", units}, {"out_dtype", kInt32}});
    }
    if (is_call(id, "nn.batch_matmul")) {
      return call(c, "nn.batch_matmul", {a, b}, {{"out_dtype", kInt32}, {"transpose_b", true}});
    }
    return call(c, "nn.matmul", {a, b},
                {{"units", units}, {"out_dtype", kInt32}, {"transpose_b", true}});
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
};

Result<Module> run(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Converter(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass convert_quantized_products;
const Pass convert_quantized_products{
    .name = "convert-quantized-products",
    .summary =
        "multiplies integers of eight bits as such, where their zero points and scales can "
        "stand behind the product",
    .run = run,
};

}  // namespace tessera::passes
