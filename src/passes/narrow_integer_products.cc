// SPDX-License-Identifier: Apache-2.0
// Products of matrices of int32 whose elements are known to fit 16 bits, as bytes less a zero point
// do, read them in int16: half of the memory, and CPUs add pairs of such products at once. The sums
// stay what they are.
#include <algorithm>
#include <limits>

#include "passes/pass.h"
#include "passes/regions.h"
#include "passes/widening_rules.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

constexpr std::string_view kViews[] = {"broadcast_to", "expand_dims", "reshape", "squeeze",
                                       "transpose"};
constexpr int kMostSteps = 8;  // from a product to the bytes

constexpr std::int32_t kLeastInt16 = std::numeric_limits<std::int16_t>::min(),
                       kMostInt16 = std::numeric_limits<std::int16_t>::max();

// Of int32.
bool are_within(const Tensor& t, std::int32_t least, std::int32_t most) {
  return std::ranges::all_of(t.as<std::int32_t>(),
                             [=](std::int32_t v) { return least <= v && v <= most; });
}

Tensor as_int16(const Tensor& t) {
  const auto values = t.as<std::int32_t>();
  return Tensor::of(t.shape, kInt16, std::vector<std::int16_t>(values.begin(), values.end()));
}

class Narrowing {
 public:
  Narrowing(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), pool_(pool), operators_(operators), closed_(closed_bodies(f)) {}

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
    const auto operands = f_.operands(id);
    if (!std::ranges::all_of(operands, [&](NodeId o) { return fits_int16(o, kMostSteps); })) {
      return std::nullopt;
    }
    relay::Attrs attrs = f_.as<relay::OpCall>(id)->attrs;
    attrs.set("out_dtype", kInt32);
    return c.builder().call(*op, {narrowed(c, operands[0]), narrowed(c, operands[1])}, attrs);
  }

  bool is_int32(NodeId id) const {
    return f_.type(id).is_tensor() && f_.type(id).dtype() == kInt32;
  }

  const Tensor* constant(NodeId id) const {
    const auto* found = f_.as<relay::Constant>(id);
    return found != nullptr ? &pool_.resolve(found->value) : nullptr;
  }

  bool fits_int16(NodeId id, int steps) const {
    if (const Tensor* t = constant(id)) return are_within(*t, kLeastInt16, kMostInt16);
    if (is_byte(id)) return true;
    if (steps == 0 || f_.op(id) == nullptr || !is_int32(id)) return false;
    const auto operands = f_.operands(id);
    if (relay::is_call_of(f_, id, "subtract")) {
      return is_view_of_byte(operands[0], steps - 1) && is_view_of_byte(operands[1], steps - 1);
    }
    return is_view(id) && fits_int16(operands[0], steps - 1);
  }

  bool is_view(NodeId id) const {
    return f_.op(id) != nullptr && std::ranges::find(kViews, f_.op(id)->name) != std::end(kViews);
  }

  // A byte made wider, of either sign.
  bool is_byte(NodeId id) const {
    return relay::is_call_of(f_, id, "cast") && is_int32(id) &&
           f_.type(f_.operands(id)[0]).is_tensor() && f_.type(f_.operands(id)[0]).dtype().is_byte();
  }

  bool is_view_of_byte(NodeId id, int steps) const {
    if (const Tensor* t = constant(id)) return is_int32(id) && are_within(*t, -128, 255);
    if (is_byte(id)) return true;
    return steps > 0 && is_view(id) && is_view_of_byte(f_.operands(id)[0], steps - 1);
  }

  NodeId narrowed(Copier& c, NodeId id) const {
    if (const Tensor* t = constant(id)) return c.builder().constant(as_int16(*t));
    return c.builder().call(*operators_.find("cast"), {c.map(id)}, {{"dtype", kInt16}});
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
  const std::vector<relay::RegionId> closed_;
};

Result<Module> run_narrow_integer_products(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Narrowing(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass narrow_integer_products;
const Pass narrow_integer_products{
    .name = "narrow-integer-products",
    .summary = "reads operands of products of int32 in int16 where all of their elements fit",
    .run = run_narrow_integer_products,
};

}  // namespace tessera::passes
