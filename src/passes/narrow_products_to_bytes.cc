// SPDX-License-Identifier: Apache-2.0
// Products of matrices of int32 that bytes were made of read these bytes: for CPUs with a unit that
// multiplies matrices of bytes. What a zero point of the data adds to the sums is taken off them.
#include <algorithm>

#include "passes/pass.h"
#include "passes/quantized_values.h"
#include "passes/regions.h"
#include "passes/row_product.h"
#include "passes/widening_rules.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

// A constant of bytes, or a value of them, less a zero point of one element if there is one.
struct Bytes {
  std::optional<Tensor> constant;
  NodeId x, zero;
};

class ByteProducts {
 public:
  ByteProducts(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), pool_(pool), values_(f, pool, operators), closed_(closed_bodies(f)) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return product(c, id); });
  }

 private:
  std::optional<NodeId> product(Copier& c, NodeId id) const {
    const relay::Operator* op = f_.op(id);
    constexpr DType kWide[] = {kInt32};
    if (op == nullptr || closed_[f_[id].region.index()] || !is_matrix_product(f_, id, kWide)) {
      return std::nullopt;
    }
    const auto x = bytes_of(f_.operands(id)[0]), y = bytes_of(f_.operands(id)[1]);
    if (!x || !y || y->zero) return std::nullopt;
    const auto rows = row_product(f_, id);
    const bool is_matrix = rows && y->constant && y->constant->shape.size() == 2;
    if (x->zero && !is_matrix) return std::nullopt;
    relay::Attrs attrs = f_.as<relay::OpCall>(id)->attrs;
    attrs.set("out_dtype", kInt32);
    const NodeId sums = c.builder().call(*op, {stored(c, *x), stored(c, *y)}, std::move(attrs));
    if (!x->zero) return sums;
    const NodeId of_columns =
        c.builder().constant(sums_of_columns(*y->constant, rows->has_rows_of_terms));
    const NodeId added = values_.call(c, "multiply", {of_columns, values_.flat(c, x->zero)});
    return values_.call(c, "subtract", {sums, added});
  }

  std::optional<Bytes> bytes_of(NodeId id) const {
    if (const auto* found = f_.as<relay::Constant>(id)) {
      auto bytes = as_bytes(pool_.resolve(found->value));
      return bytes ? std::optional(Bytes{std::move(bytes), {}, {}}) : std::nullopt;
    }
    const auto q = values_.find(id, kInt32);
    if (!q) return std::nullopt;
    if (!values_.has_zero_point(*q)) return Bytes{{}, q->x, {}};
    const bool is_one = has_one_element(f_.type(q->zero));
    return is_one ? std::optional(Bytes{{}, q->x, q->zero}) : std::nullopt;
  }

  static std::optional<Tensor> as_bytes(const Tensor& t) {
    if (t.dtype != kInt32) return std::nullopt;
    const auto values = t.as<std::int32_t>();
    const auto are_within = [&](std::int32_t least, std::int32_t most) {
      return std::ranges::all_of(values, [=](std::int32_t v) { return least <= v && v <= most; });
    };
    if (are_within(-128, 127)) {
      return Tensor::of(t.shape, kInt8, std::vector<std::int8_t>(values.begin(), values.end()));
    }
    if (are_within(0, 255)) {
      return Tensor::of(t.shape, kUInt8, std::vector<std::uint8_t>(values.begin(), values.end()));
    }
    return std::nullopt;
  }

  // [columns, terms] or [terms, columns], which the product reads as rows of terms or not.
  static Tensor sums_of_columns(const Tensor& matrix, bool has_rows_of_terms) {
    const std::size_t column = has_rows_of_terms ? 0 : 1;
    std::vector<std::int64_t> sums(static_cast<std::size_t>(matrix.shape[column]));
    for (std::int64_t i = 0; i < matrix.num_elements(); ++i) {
      const std::int64_t at = has_rows_of_terms ? i / matrix.shape[1] : i % matrix.shape[1];
      sums[static_cast<std::size_t>(at)] += element_as_int(matrix, i);
    }
    return tensor_from_ints({matrix.shape[column]}, kInt32, sums);
  }

  static NodeId stored(Copier& c, const Bytes& b) {
    return b.constant ? c.builder().constant(*b.constant) : c.map(b.x);
  }

  const Function& f_;
  const ConstantPool& pool_;
  const QuantizedValues values_;
  const std::vector<relay::RegionId> closed_;
};

Result<Module> run_narrow_products_to_bytes(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return ByteProducts(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass narrow_products_to_bytes;
const Pass narrow_products_to_bytes{
    .name = "narrow-products-to-bytes",
    .summary = "multiplies bytes where products of int32 read what was made of them",
    .run = run_narrow_products_to_bytes,
};

}  // namespace tessera::passes
