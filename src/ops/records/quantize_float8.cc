// SPDX-License-Identifier: Apache-2.0
#include "ops/records/float8.h"

namespace tessera::ops {
namespace {

Result<Type> infer_quantize_float8(const InferArgs& args) {
  const auto p = relay::read_attrs<QuantizeFloat8Attrs>(args.attrs);
  const Type& data = args.operands[0];
  TESSERA_TRY_VOID(expect_float8(args, p.format));
  if (!data.dtype().is_float() || data.dtype() == kFloat64) {
    return refuse(args, Code::kDtypeMismatch, "cannot take {}; it takes floats of up to 32 bits",
                  to_string(data.dtype()));
  }
  TESSERA_TRY_VOID(expect_scale_of(args, 1, data.shape()));
  return tensor_type(data.shape(), kUInt8);
}

std::vector<Tensor> eval_quantize_float8(const EvalArgs& args) {
  const auto p = relay::read_attrs<QuantizeFloat8Attrs>(args.attrs);
  const Float8Format& format = *find_float8(p.format);
  const Elements<double> x = values_of<double>(args.operands[0]);
  const Elements<double> scale = values_of<double>(args.operands[1]);
  const Ints shape = static_shape(args.result);
  const Ints strides = broadcast_strides(args.operands[1].shape, shape);
  Ints out;
  for (Counter c(shape); c; ++c) {
    // The quotient is rounded to float32, as every kernel does it.
    const auto quotient = static_cast<float>(x[out.size()] / scale[c.offset(strides)]);
    out.push_back(tessera::float8_code(format, quotient, p.saturate));
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_quantize_float8(const ComputeArgs& args) {
  const auto p = relay::read_attrs<QuantizeFloat8Attrs>(args.attrs);
  const std::vector<Expr> shape = result_shape(args);
  return define(args, "codes", [&](const Indices& i) {
    const Expr scaled = widened(args.operands[0](i)) / broadcast_read(args.operands[1], shape, i);
    return float8_code(*find_float8(p.format), scaled, p.saturate);
  });
}

}  // namespace

constexpr Operator kQuantizeFloat8{
    .name = "qnn.quantize_float8",
    .doc =
        "The codes of data / scale as floats of eight bits: to the nearest, a tie to the even "
        "code; what is too large becomes the largest number, or, where it does not saturate, NaN "
        "(e4m3fn) or infinity (e5m2)   data: T[d...], scale: float32[s...] that broadcasts to "
        "d -> uint8[d...]",
    .operands = {"data", "scale"},
    .attrs = relay::attr_schema<QuantizeFloat8Attrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_quantize_float8,
    .eval = eval_quantize_float8,
    .compute = compute_quantize_float8,
    .samples = {"qnn.quantize_float8(float32[2,300]{-600..600}, float32[]=1)",
                "qnn.quantize_float8(float32[97]{special}, float32[]=1)",
                "qnn.quantize_float8(float32[97]{special}, float32[]=1, saturate=False)",
                "qnn.quantize_float8(float32[3,40]{-600..600}, float32[]=1, saturate=False)",
                "qnn.quantize_float8(float32[3,40]{-70000..70000}, float32[]=1, format=\"e5m2\", "
                "saturate=False)",
                "qnn.quantize_float8(float32[97]{special}, float32[]=1, format=\"e5m2\")",
                "qnn.quantize_float8(float16[5,7], float32[5,1]{0.01..0.1}, format=\"e5m2\")",
                "qnn.quantize_float8(bfloat16[2,3,4], float32[4]{0.001..0.01})",
                "qnn.quantize_float8(float32[40]{-0.02..0.02}, float32[1]=1)",
                "qnn.quantize_float8(float32[0,4], float32[]=1)"},
};

}  // namespace tessera::ops
