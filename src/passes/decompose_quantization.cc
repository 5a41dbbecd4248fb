// SPDX-License-Identifier: Apache-2.0
// `qnn.quantize` and `qnn.dequantize` of integers of eight bits become what they compute, as ONNX's
// are imported: patterns of back ends then see one form.
//   dequantize(x)  =  (cast(x) - zero) * scale
//   quantize(x)    =  cast(min(max(round(x / scale) + zero, least), most))
#include <span>

#include "ops/attrs/quantize.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

class Decomposition {
 public:
  Decomposition(Copier& c, NodeId id, const relay::OperatorTable& operators)
      : c_(c), f_(c.from()), id_(id), operators_(operators) {}

  std::optional<NodeId> run() const {
    const relay::Operator* op = f_.op(id_);
    if (op == nullptr) return std::nullopt;
    if (op->name == "qnn.dequantize") return dequantized();
    if (op->name == "qnn.quantize") return quantized();
    return std::nullopt;
  }

 private:
  std::optional<NodeId> dequantized() const {
    if (!f_.type(operand(0)).dtype().is_byte() || f_.type(id_).dtype() != kFloat32) {
      return std::nullopt;
    }
    const auto attrs = relay::read_attrs<ops::DequantizeAttrs>(attrs_of());
    const NodeId wide = cast(c_.map(operand(0)), kFloat32);
    return make("multiply",
                {make("subtract", {wide, parameter(2, attrs.axis)}), parameter(1, attrs.axis)});
  }

  std::optional<NodeId> quantized() const {
    const DType to = f_.type(id_).dtype();
    if (f_.type(operand(0)).dtype() != kFloat32 || !to.is_byte()) return std::nullopt;
    const auto attrs = relay::read_attrs<ops::QuantizeAttrs>(attrs_of());
    const NodeId rounded =
        make("round", {make("divide", {c_.map(operand(0)), parameter(1, attrs.axis)})});
    const double least = to == kInt8 ? -128 : 0;
    const NodeId above =
        make("maximum", {make("add", {rounded, parameter(2, attrs.axis)}), number(least)});
    return cast(make("minimum", {above, number(least + 255)}), to);
  }

  // A scale or a zero point as float32, where broadcasting meets the dimension that it goes along.
  NodeId parameter(std::size_t i, std::int64_t axis) const {
    const auto rank = static_cast<std::int64_t>(f_.type(operand(0)).rank());
    std::vector<std::int64_t> shape;
    if (num_elements(f_.type(operand(i)).shape()) != Dim(1)) {
      shape.assign(static_cast<std::size_t>(axis < 0 ? -axis : rank - axis), 1);
      shape[0] = -1;
    }
    return cast(make("reshape", {c_.map(operand(i))}, {{"newshape", shape}}), kFloat32);
  }

  NodeId operand(std::size_t i) const { return f_.operands(id_)[i]; }
  const relay::Attrs& attrs_of() const { return f_.as<relay::OpCall>(id_)->attrs; }
  NodeId make(std::string_view op, std::initializer_list<NodeId> operands,
              relay::Attrs attrs = {}) const {
    return c_.builder().call(*operators_.find(op), operands, std::move(attrs));
  }
  NodeId cast(NodeId x, DType dtype) const { return make("cast", {x}, {{"dtype", dtype}}); }
  NodeId number(double value) const {
    return c_.builder().constant(tensor_from_doubles({}, kFloat32, std::span(&value, 1)));
  }

  Copier& c_;
  const relay::Function& f_;
  const NodeId id_;
  const relay::OperatorTable& operators_;
};

Result<Module> run_decompose_quantization(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const relay::Function& f, const ConstantPool&) {
    const std::vector<relay::RegionId> closed = closed_bodies(f);
    return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      if (closed[f[id].region.index()]) return std::nullopt;
      return Decomposition(c, id, context.operators).run();
    });
  });
}

}  // namespace

extern const Pass decompose_quantization;
const Pass decompose_quantization{
    .name = "decompose-quantization",
    .summary = "makes casts and arithmetic of quantisation to integers of eight bits, and back",
    .run = run_decompose_quantization,
};

}  // namespace tessera::passes
