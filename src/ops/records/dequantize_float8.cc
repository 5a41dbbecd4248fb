// SPDX-License-Identifier: Apache-2.0
#include "ops/records/float8.h"

namespace tessera::ops {
namespace {

Result<Type> infer_dequantize_float8(const InferArgs& args) {
  const Type& data = args.operands[0];
  TESSERA_TRY_VOID(expect_float8(args, relay::read_attrs<Float8Attrs>(args.attrs).format));
  if (data.dtype() != kUInt8) {
    return refuse(args, Code::kDtypeMismatch, "cannot take {}; codes are uint8",
                  to_string(data.dtype()));
  }
  TESSERA_TRY_VOID(expect_scale_of(args, 1, data.shape()));
  return tensor_type(data.shape(), kFloat32);
}

std::vector<Tensor> eval_dequantize_float8(const EvalArgs& args) {
  const Float8Format& format = *find_float8(relay::read_attrs<Float8Attrs>(args.attrs).format);
  const Elements<std::int64_t> codes = values_of<std::int64_t>(args.operands[0]);
  const Elements<double> scale = values_of<double>(args.operands[1]);
  const Ints shape = static_shape(args.result);
  const Ints strides = broadcast_strides(args.operands[1].shape, shape);
  Elements<double> out;
  for (Counter c(shape); c; ++c) {
    out.push_back(float8_value(format, static_cast<int>(codes[out.size()])) *
                  scale[c.offset(strides)]);
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_dequantize_float8(const ComputeArgs& args) {
  const auto p = relay::read_attrs<Float8Attrs>(args.attrs);
  const std::vector<Expr> shape = result_shape(args);
  return define(args, "y", [&](const Indices& i) {
    return float8_number(*find_float8(p.format), args.operands[0](i)) *
           broadcast_read(args.operands[1], shape, i);
  });
}

}  // namespace

constexpr Operator kDequantizeFloat8{
    .name = "qnn.dequantize_float8",
    .doc =
        "The numbers that codes of floats of eight bits stand for, times scale   data: "
        "uint8[d...], scale: float32[s...] that broadcasts to d -> float32[d...]",
    .operands = {"data", "scale"},
    .attrs = relay::attr_schema<Float8Attrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_dequantize_float8,
    .eval = eval_dequantize_float8,
    .compute = compute_dequantize_float8,
    .samples = {"qnn.dequantize_float8(uint8[2,300]{0..255}, float32[]=1)",
                "qnn.dequantize_float8(uint8[2,300]{0..255}, float32[]=0.5, format=\"e5m2\")",
                "qnn.dequantize_float8(uint8[5,7]{0..255}, float32[5,1])",
                "qnn.dequantize_float8(uint8[2,3,4]{0..255}, float32[4], format=\"e5m2\")",
                "qnn.dequantize_float8(uint8[0,4], float32[]=1)"},
};

}  // namespace tessera::ops
