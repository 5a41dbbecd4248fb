// SPDX-License-Identifier: Apache-2.0
// round(x / scale) of numbers that were computed is round(x * (1 / scale)), and the factor becomes
// part of the constants that x was made with: the scales of a product, its bias, those of a sum.
// A division takes a CPU as long as all the rest of an epilogue. Quotients change by 2^-22 of
// themselves at most, as they do where engines fold the scales of a quantised product. What is
// quantised as it is given stays divided: there a number between two integers is one on purpose.
#include <algorithm>
#include <span>

#include "passes/pass.h"
#include "passes/quantized_values.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::is_call_of;
using relay::NodeId;

constexpr std::string_view kNarrowing[] = {"add", "maximum", "minimum", "clip"};
constexpr std::string_view kExact[] = {"reshape", "transpose",     "squeeze", "expand_dims",
                                       "cast",    "strided_slice", "take",    "concatenate"};

class Reciprocals {
 public:
  Reciprocals(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), pool_(pool), values_(f, pool, operators), uses_(f), closed_(closed_bodies(f)) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return rounded(c, id); });
  }

 private:
  std::optional<NodeId> rounded(Copier& c, NodeId id) const {
    if (closed_[f_[id].region.index()] || !becomes_bytes(id)) return std::nullopt;
    const NodeId quotient = f_.operands(id)[0];
    if (!is_call_of(f_, quotient, "divide") || f_.type(quotient).dtype() != kFloat32) {
      return std::nullopt;
    }
    const NodeId x = f_.operands(quotient)[0];
    const auto scale = values_.number(f_.operands(quotient)[1]);
    if (!scale || *scale < kLeastScale || *scale > kMostScale || !is_computed(x) ||
        f_.type(x) != f_.type(quotient)) {
      return std::nullopt;
    }
    const double factor = 1 / *scale;
    const NodeId product =
        takes_factor(x)
            ? scaled(c, x, factor)
            : values_.call(c, "multiply", {c.map(x), c.builder().constant(of_one(factor))});
    return c.builder().call(*f_.op(id), {product});
  }

  // A round whose numbers are shifted and cut off to integers of eight bits.
  bool becomes_bytes(NodeId id) const {
    if (!is_call_of(f_, id, "round")) return false;
    while (uses_.of(id).size() == 1) {
      id = uses_.of(id)[0];
      if (is_call_of(f_, id, "cast")) return f_.type(id).dtype().is_byte();
      const relay::Operator* op = f_.op(id);
      if (op == nullptr || std::ranges::find(kNarrowing, op->name) == std::end(kNarrowing)) break;
    }
    return false;
  }

  bool is_computed(NodeId id) const {
    while (const relay::Operator* op = f_.op(id)) {
      if (std::ranges::find(kExact, op->name) == std::end(kExact)) return true;
      if (f_.type(f_.operands(id)[0]).is_tuple()) return false;
      id = f_.operands(id)[0];
    }
    return false;
  }

  // Can each addend have the factor in a constant, with no other reader in between?
  bool takes_factor(NodeId id) const {
    const relay::Operator* op = f_.op(id);
    if (op == nullptr || uses_.of(id).size() != 1 || uses_.is_result(id)) return false;
    const auto operands = f_.operands(id);
    if (op->name == "multiply") return constant(operands[1]) != nullptr;
    if (op->name == "nn.relu") return takes_factor(operands[0]);
    if (op->name != "add" && op->name != "nn.bias_add") return false;
    return takes_factor(operands[0]) && (constant(operands[1]) || takes_factor(operands[1]));
  }

  NodeId scaled(Copier& c, NodeId id, double factor) const {
    if (const Tensor* t = constant(id)) return c.builder().constant(times(*t, factor));
    const auto& made = *f_.as<relay::OpCall>(id);
    std::vector<NodeId> operands;
    const bool is_product = made.op->name == "multiply";
    for (const NodeId operand : f_.operands(id)) {
      const bool stays = is_product && operands.empty();  // what the constant is multiplied by
      operands.push_back(stays ? c.map(operand) : scaled(c, operand, factor));
    }
    return c.builder().call(*made.op, operands, made.attrs);
  }

  const Tensor* constant(NodeId id) const {
    const auto* found = f_.as<relay::Constant>(id);
    return found == nullptr ? nullptr : &pool_.resolve(found->value);
  }
  static Tensor of_one(double value) {
    return tensor_from_doubles({}, kFloat32, std::span(&value, 1));
  }
  static Tensor times(const Tensor& t, double factor) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < t.num_elements(); ++i) {
      values.push_back(element_as_double(t, i) * factor);
    }
    return tensor_from_doubles(t.shape, t.dtype, values);
  }

  const Function& f_;
  const ConstantPool& pool_;
  const QuantizedValues values_;
  const relay::Uses uses_;
  const std::vector<relay::RegionId> closed_;
};

Result<Module> run_multiply_by_reciprocals(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Reciprocals(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass multiply_by_reciprocals;
const Pass multiply_by_reciprocals{
    .name = "multiply-by-reciprocals",
    .summary =
        "multiplies what is computed and then quantised, with the factor in constants where it can "
        "be",
    .run = run_multiply_by_reciprocals,
};

}  // namespace tessera::passes
