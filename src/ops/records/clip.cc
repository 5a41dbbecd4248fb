// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/attrs/elementwise.h"
#include "ops/evaluation/to_integer.h"
#include "ops/records/elementwise.h"

namespace tessera::ops {
namespace {

// A bound need not be a number of the type.
template <class T>
T bound_as(double bound) {
  if constexpr (std::is_same_v<T, double>) return bound;
  return static_cast<T>(to_integer(bound));
}

std::vector<Tensor> eval_clip(const EvalArgs& args) {
  const auto p = relay::read_attrs<ClipAttrs>(args.attrs);
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    Elements<T> values = values_of<T>(args.operands[0]);
    for (T& v : values) {
      const auto x = static_cast<double>(v);
      if (x < p.a_min) v = bound_as<T>(p.a_min);
      if (x > p.a_max) v = bound_as<T>(p.a_max);
    }
    return {tensor_of(args.result, values)};
  });
}

// Bounds that no value of the type reaches are left out; infinite ones mean that.
Definitions compute_clip(const ComputeArgs& args) {
  const auto p = relay::read_attrs<ClipAttrs>(args.attrs);
  const DType dtype = result_dtype(args);
  const auto least = dtype.is_float()          ? -HUGE_VAL
                     : dtype.is_unsigned_int() ? 0.0
                                               : -std::ldexp(1, dtype.bits - 1);
  const auto most =
      dtype.is_float() ? HUGE_VAL : std::ldexp(1, dtype.bits - (dtype.is_signed_int() ? 1 : 0)) - 1;
  return define(args, "y", [&](const Indices& i) {
    Expr x = args.operands[0](i);
    if (p.a_min > least) x = tir::max(x, tir::imm(p.a_min, dtype));
    if (p.a_max < most) x = tir::min(x, tir::imm(p.a_max, dtype));
    return x;
  });
}

}  // namespace

constexpr Operator kClip{
    .name = "clip",
    .doc = "y[i...] = min(max(a[i...], a_min), a_max)   a: T[d...] -> T[d...]",
    .operands = {"a"},
    .attrs = relay::attr_schema<ClipAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = same_as_first,
    .eval = eval_clip,
    .compute = compute_clip,
    .samples = {"clip(float32[3,5], a_min=0, a_max=6)", "clip(int32[7], a_min=-3, a_max=2)",
                "clip(float16[2,3], a_min=-0.5, a_max=0.5)", "clip(uint8[4], a_min=-1, a_max=3)",
                "clip(float32[0], a_min=0, a_max=1)"},
};

}  // namespace tessera::ops
