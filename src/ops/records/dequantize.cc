// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/records/quantize.h"

namespace tessera::ops {
namespace {

Result<Type> infer_dequantize(const InferArgs& args) {
  const auto p = relay::read_attrs<DequantizeAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_int(args, 0));
  TESSERA_TRY_VOID(expect_quantization_parameters(args, p.axis));
  return tensor_type(args.operands[0].shape(), p.out_dtype);
}

std::vector<Tensor> eval_dequantize(const EvalArgs& args) {
  const auto p = relay::read_attrs<DequantizeAttrs>(args.attrs);
  const Tensor& data = args.operands[0];
  Elements<double> x = values_of<double>(data);
  const Elements<double> scale = values_of<double>(args.operands[1]);
  const Elements<double> zero_point = values_of<double>(args.operands[2]);
  const std::int64_t axis = front_axis(p.axis, std::max<std::size_t>(data.shape.size(), 1));
  std::size_t at = 0;
  for (Counter c(data.shape); c; ++c, ++at) {
    x[at] = (x[at] - parameter_at(zero_point, c, axis)) * parameter_at(scale, c, axis);
  }
  return {tensor_of(args.result, x)};
}

Definitions compute_dequantize(const ComputeArgs& args) {
  const auto p = relay::read_attrs<DequantizeAttrs>(args.attrs);
  const TensorExpr& data = args.operands[0];
  const std::int64_t axis = front_axis(p.axis, std::max<std::size_t>(data.rank(), 1));
  const DType wide = accumulator(p.out_dtype);
  return define(args, "y", [&](const Indices& i) {
    const Expr centred =
        tir::cast(data(i), kInt32) - tir::cast(parameter_at(args.operands[2], i, axis), kInt32);
    const Expr scale = tir::cast(parameter_at(args.operands[1], i, axis), wide);
    return tir::cast(tir::cast(centred, wide) * scale, p.out_dtype);
  });
}

}  // namespace

constexpr Operator kDequantize{
    .name = "qnn.dequantize",
    .doc =
        "x[i...] = (data[i...] - zero_point) * scale; both are scalars or go along `axis`"
        "   data: int[d...] -> out_dtype[d...]",
    .operands = {"data", "input_scale", "input_zero_point"},
    .attrs = relay::attr_schema<DequantizeAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_dequantize,
    .eval = eval_dequantize,
    .compute = compute_dequantize,
    .samples = {"qnn.dequantize(uint8[2,3]{0..255}, float32[]=0.1, uint8[]=128)",
                "qnn.dequantize(int8[2,3,2], float32[3], int8[3], axis=1)",
                "qnn.dequantize(int32[5], float32[], int32[], out_dtype=\"float16\")"},
};

}  // namespace tessera::ops
