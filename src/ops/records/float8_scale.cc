// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/records/float8.h"

namespace tessera::ops {
namespace {

// One that divides, where a row is zero; no number that float32 has is beyond the codes by it.
constexpr double kLeast = std::numeric_limits<float>::min();

Result<Type> infer_float8_scale(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_float8(args, relay::read_attrs<Float8Attrs>(args.attrs).format));
  TESSERA_TRY_VOID(expect_float(args, 0));
  TESSERA_TRY_VOID(expect_min_rank(args, 0, 1));
  Shape shape = args.operands[0].shape();
  shape.back() = Dim(1);
  return tensor_type(std::move(shape), kFloat32);
}

std::vector<Tensor> eval_float8_scale(const EvalArgs& args) {
  const Float8Format& format = *find_float8(relay::read_attrs<Float8Attrs>(args.attrs).format);
  const Elements<double> x = values_of<double>(args.operands[0]);
  const std::int64_t terms = args.operands[0].shape.back();
  const std::int64_t rows = count_of(static_shape(args.result));
  Elements<double> out;
  for (std::int64_t r = 0; r < rows; ++r) {
    double largest = 0;
    for (std::int64_t k = 0; k < terms; ++k) {
      largest = max_or_nan(largest, std::abs(x[r * terms + k]));
    }
    out.push_back(
        max_or_nan(static_cast<double>(static_cast<float>(largest / format.largest)), kLeast));
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_float8_scale(const ComputeArgs& args) {
  const Float8Format& format = *find_float8(relay::read_attrs<Float8Attrs>(args.attrs).format);
  const TensorExpr& x = args.operands[0];
  const IterAxis k = tir::reduce_axis(x.shape().back(), "k");
  const TensorExpr largest = tir::compute(
      "largest", result_shape(args),
      [&](const Indices& i) {
        Indices at = i;
        at.back() = k.var;
        const Expr size = tir::cast(x(at), kFloat32);
        return tir::reduce(ReduceOp::kMax, {k}, tir::call("fabs", {size}));
      },
      "reduce");
  return define(args, "scale", [&](const Indices& i) {
    return tir::max(largest(i) / tir::imm(format.largest, kFloat32), tir::imm(kLeast, kFloat32));
  });
}

}  // namespace

constexpr Operator kFloat8Scale{
    .name = "qnn.float8_scale",
    .doc =
        "The scale by which the largest magnitude of each row becomes the largest number of a "
        "format of eight bits; 2^-126 at least   data: T[d..., n] -> float32[d..., 1]",
    .operands = {"data"},
    .attrs = relay::attr_schema<Float8Attrs>,
    .pattern = OpPattern::kCommReduce,
    .infer = infer_float8_scale,
    .eval = eval_float8_scale,
    .compute = compute_float8_scale,
    .samples = {"qnn.float8_scale(float32[3,70])", "qnn.float8_scale(float16[2,3,9])",
                "qnn.float8_scale(float32[5]{-1000..1000}, format=\"e5m2\")",
                "qnn.float8_scale(bfloat16[4,5])", "qnn.float8_scale(float32[3,3]{special})",
                "qnn.float8_scale(float32[0,4])", "qnn.float8_scale(float32[2,0])"},
};

}  // namespace tessera::ops
