// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/evaluation/to_integer.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {
namespace {

Result<Type> infer_cast(const InferArgs& args) {
  return tensor_type(args.operands[0].shape(), relay::read_attrs<CastAttrs>(args.attrs).dtype);
}

std::vector<Tensor> eval_cast(const EvalArgs& args) {
  const Tensor& x = args.operands[0];
  const DType to = args.result.dtype();
  if (x.dtype == to) return {x};
  if (!x.dtype.is_float() && !to.is_bool()) {
    const Elements<std::int64_t> values = values_of<std::int64_t>(x);
    if (!to.is_float()) return {tensor_of(args.result, values)};
    return {tensor_of(args.result, values_of<double>(x))};
  }
  const Elements<double> values = values_of<double>(x);
  if (to.is_float()) return {tensor_of(args.result, values)};
  Ints out;
  for (double v : values) {
    if (to.is_bool()) {
      out.push_back(v != 0 ? 1 : 0);
    } else if (v >= 0x1p63 && to == kUInt64) {
      const double bounded = std::fmin(v, 0x1.fffffffffffffp63);
      out.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(bounded)));
    } else {
      out.push_back(to_integer(v));
    }
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_cast(const ComputeArgs& args) {
  const DType to = result_dtype(args);
  return define(args, "y", [&](const Indices& i) {
    const Expr x = args.operands[0](i);
    return to.is_bool() && !x.dtype().is_bool() ? tir::ne(x, zero(x.dtype())) : tir::cast(x, to);
  });
}

}  // namespace

constexpr Operator kCast{
    .name = "cast",
    .doc =
        "y[i...] = x[i...] as `dtype`; floats become integers by truncation, bool is x != 0"
        "   x: T[d...] -> dtype[d...]",
    .operands = {"x"},
    .attrs = relay::attr_schema<CastAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = infer_cast,
    .eval = eval_cast,
    .compute = compute_cast,
    .samples = {"cast(float32[3,5], dtype=\"int32\")", "cast(int32[7], dtype=\"float16\")",
                "cast(float16[2,3], dtype=\"float32\")", "cast(bool[4], dtype=\"int64\")",
                "cast(int64[0,2], dtype=\"int8\")", "cast(float32[5], dtype=\"bool\")",
                "cast(uint8[4], dtype=\"float64\")", "cast(int32[4], dtype=\"int8\")",
                "cast(float32[3], dtype=\"bfloat16\")", "cast(int8[3], dtype=\"bool\")"},
};

}  // namespace tessera::ops
