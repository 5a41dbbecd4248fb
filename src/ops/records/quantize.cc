// SPDX-License-Identifier: Apache-2.0
#include "ops/records/quantize.h"

#include <algorithm>
#include <cmath>

#include "ops/evaluation/to_integer.h"

namespace tessera::ops {
namespace {

Result<Type> infer_quantize(const InferArgs& args) {
  const auto p = relay::read_attrs<QuantizeAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_float(args, 0));
  TESSERA_TRY_VOID(expect_quantization_parameters(args, p.axis));
  if (!p.out_dtype.is_int() || p.out_dtype.bits > 32) {
    return refuse(args, Code::kDtypeMismatch, "cannot quantise to {}", to_string(p.out_dtype));
  }
  return tensor_type(args.operands[0].shape(), p.out_dtype);
}

double least(DType dtype) { return dtype.is_unsigned_int() ? 0 : -std::ldexp(1, dtype.bits - 1); }
double greatest(DType dtype) {
  return std::ldexp(1, dtype.bits - (dtype.is_signed_int() ? 1 : 0)) - 1;
}

std::vector<Tensor> eval_quantize(const EvalArgs& args) {
  const auto p = relay::read_attrs<QuantizeAttrs>(args.attrs);
  const Tensor& data = args.operands[0];
  const Elements<double> x = values_of<double>(data), scale = values_of<double>(args.operands[1]);
  const Elements<double> zero_point = values_of<double>(args.operands[2]);
  const std::int64_t axis = front_axis(p.axis, std::max<std::size_t>(data.shape.size(), 1));
  Ints out;
  for (Counter c(data.shape); c; ++c) {
    // The quotient is rounded in the operand's precision, as ONNX and every kernel does it.
    const auto quotient =
        static_cast<double>(static_cast<float>(x[out.size()] / parameter_at(scale, c, axis)));
    const double q = std::nearbyint(quotient) + parameter_at(zero_point, c, axis);
    out.push_back(to_integer(std::clamp(q, least(p.out_dtype), greatest(p.out_dtype))));
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_quantize(const ComputeArgs& args) {
  const auto p = relay::read_attrs<QuantizeAttrs>(args.attrs);
  const TensorExpr& data = args.operands[0];
  const std::int64_t axis = front_axis(p.axis, std::max<std::size_t>(data.rank(), 1));
  return define(args, "y", [&](const Indices& i) {
    const Expr x = widened(data(i));
    const DType wide = x.dtype();
    const Expr q =
        tir::call("rint", {x / tir::cast(parameter_at(args.operands[1], i, axis), wide)}) +
        tir::cast(parameter_at(args.operands[2], i, axis), wide);
    const Expr bounded = tir::max(tir::min(q, tir::imm(greatest(p.out_dtype), wide)),
                                  tir::imm(least(p.out_dtype), wide));
    return tir::cast(bounded, p.out_dtype);
  });
}

}  // namespace

Result<void> expect_quantization_parameters(const InferArgs& args, std::int64_t axis) {
  const Type& data = args.operands[0];
  for (std::size_t k : {1u, 2u}) {
    const Type& t = args.operands[k];
    if (t.rank() == 0) continue;
    TESSERA_TRY_VOID(expect_rank(args, k, 1));
    TESSERA_TRY(const std::int64_t at, normal_axis(args, axis, data.rank()));
    if (t.shape()[0] == Dim(1)) continue;
    TESSERA_TRY_VOID(agreed(args, data.shape()[at], t.shape()[0], "sizes of axis and parameters"));
  }
  return {};
}

Expr parameter_at(const TensorExpr& parameter, const Indices& i, std::int64_t axis) {
  if (parameter.rank() == 0) return parameter({});
  return parameter({tir::is_int(parameter.shape()[0], 1) ? Expr(0) : i[axis]});
}

double parameter_at(const Elements<double>& parameter, const Counter& i, std::int64_t axis) {
  return parameter.size() == 1 ? parameter[0] : parameter[i[axis]];
}

constexpr Operator kQuantize{
    .name = "qnn.quantize",
    .doc =
        "q[i...] = saturate(round(data[i...] / scale) + zero_point), round to nearest even; scale "
        "and zero "
        "point are scalars or go along `axis`   data: T[d...] -> out_dtype[d...]",
    .operands = {"data", "output_scale", "output_zero_point"},
    .attrs = relay::attr_schema<QuantizeAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_quantize,
    .eval = eval_quantize,
    .compute = compute_quantize,
    .samples =
        {"qnn.quantize(float32[2,3], float32[]=0.1, uint8[]=3)",
         "qnn.quantize(float32[2,3,2], float32[3]{0.1..0.5}, int8[3], axis=1, out_dtype=\"int8\")",
         "qnn.quantize(float32[9]{-100..100}, float32[]=0.5, int32[]=0, out_dtype=\"int8\")"},
};

}  // namespace tessera::ops
