// SPDX-License-Identifier: Apache-2.0
// quantize(f(dequantize(q))) with one scale and one zero point is f(q), where f moves numbers or
// takes the largest: exporters write so around every operator. (q - zero) * scale / scale is within
// 2^-23 of a whole number of no more than nine bits, which it is rounded to.
#include <algorithm>
#include <span>

#include "constants/integer_sums.h"
#include "passes/pass.h"
#include "passes/quantized_values.h"
#include "passes/regions.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::is_call_of;
using relay::NodeId;

constexpr std::string_view kViews[] = {"reshape", "transpose", "squeeze", "expand_dims"};
// Around an image they see the least number there is, of either type.
constexpr std::string_view kMaxima[] = {"nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"};

bool is_among(std::span<const std::string_view> names, const relay::Operator& op) {
  return std::ranges::find(names, op.name) != names.end();
}

class Elision {
 public:
  Elision(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f), values_(f, pool, operators), uses_(f), closed_(closed_bodies(f)) {}

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return elided(c, id); });
  }

 private:
  // What is quantised, by numbers that are known.
  struct Quantization {
    NodeId x;
    double scale = 1, zero = 0;
  };

  std::optional<NodeId> elided(Copier& c, NodeId id) const {
    if (closed_[f_[id].region.index()]) return std::nullopt;
    const auto to = quantization(id);
    if (!to) return std::nullopt;
    std::vector<NodeId> steps;
    NodeId at = to->x;
    while (is_step(at)) {
      steps.push_back(at);
      at = f_.operands(at)[0];
    }
    const auto from = values_.find(at, kFloat32);
    if (!from || f_.type(from->x).dtype() != f_.type(id).dtype()) return std::nullopt;
    if (values_.number(from->scale) != to->scale) return std::nullopt;
    if ((from->zero ? values_.number(from->zero) : 0) != to->zero) return std::nullopt;
    NodeId made = c.map(from->x);
    while (!steps.empty()) {
      const auto& call = *f_.as<relay::OpCall>(steps.back());
      made = c.builder().call(*call.op, {made}, call.attrs);
      steps.pop_back();
    }
    return made;
  }

  // A maximum that others read, too, would be taken twice.
  bool is_step(NodeId id) const {
    const relay::Operator* op = f_.op(id);
    if (op == nullptr) return false;
    if (is_among(kMaxima, *op)) return uses_.of(id).size() == 1 && !uses_.is_result(id);
    return is_among(kViews, *op);
  }

  // cast(min(max(round(x / scale) + zero, least), most)), the limits those of the type.
  std::optional<Quantization> quantization(NodeId id) const {
    if (!is_call_of(f_, id, "cast") || !f_.type(id).is_tensor() || !f_.type(id).dtype().is_byte()) {
      return std::nullopt;
    }
    const IntegerRange range = range_of_bytes(f_.type(id).dtype());
    Quantization q{f_.operands(id)[0]};
    if (!strip(q.x, "minimum", static_cast<double>(range.most))) return std::nullopt;
    if (!strip(q.x, "maximum", static_cast<double>(range.least))) return std::nullopt;
    if (const auto zero = operand_of(q.x, "add")) {
      if (!values_.is_zero_point_of(f_.operands(q.x)[1], f_.type(id).dtype())) return std::nullopt;
      q.zero = *zero;
      q.x = f_.operands(q.x)[0];
    }
    if (!is_call_of(f_, q.x, "round")) return std::nullopt;
    q.x = f_.operands(q.x)[0];
    const auto scale = operand_of(q.x, "divide");
    if (!scale || *scale < kLeastScale || *scale > kMostScale) return std::nullopt;
    q.scale = *scale;
    q.x = f_.operands(q.x)[0];
    return f_.type(q.x).dtype() == kFloat32 ? std::optional(q) : std::nullopt;
  }

  // Goes on to the first operand of that call with that number.
  bool strip(NodeId& at, std::string_view op, double wanted) const {
    if (operand_of(at, op) != wanted) return false;
    at = f_.operands(at)[0];
    return true;
  }
  // The number that is the second operand, where the call does not widen the first one.
  std::optional<double> operand_of(NodeId id, std::string_view op) const {
    if (!is_call_of(f_, id, op) || f_.type(id) != f_.type(f_.operands(id)[0])) return std::nullopt;
    return values_.number(f_.operands(id)[1]);
  }
  const Function& f_;
  const QuantizedValues values_;
  const relay::Uses uses_;
  const std::vector<relay::RegionId> closed_;
};

Result<Module> run_elide_requantization(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Elision(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass elide_requantization;
const Pass elide_requantization{
    .name = "elide-requantization",
    .summary = "moves and pools integers of eight bits that were dequantised for it alone",
    .run = run_elide_requantization,
};

}  // namespace tessera::passes
