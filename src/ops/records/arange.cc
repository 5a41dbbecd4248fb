// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/attrs/create.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/dynamic_shape.h"
#include "ops/records/elementwise.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

// The number of elements, where start, stop and step are sizes.
Dim length_of_sizes(const InferArgs& args) {
  Dim v[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (i >= args.sizes.size() || args.sizes[i] == nullptr) return Dim::unknown();
    v[i] = args.sizes[i]->front();
  }
  if (!v[2].is_constant() || v[2].constant() <= 0) return Dim::unknown();
  return ceil_div(max(v[1] - v[0], Dim(0)), v[2]);
}

// The number of elements, where start, stop and step are known.
Dim length(const InferArgs& args) {
  const bool constants = std::all_of(args.values.begin(), args.values.end(),
                                     [](const Tensor* t) { return t != nullptr; });
  if (!constants) return length_of_sizes(args);
  double v[3];
  for (std::size_t i = 0; i < 3; ++i) v[i] = element_as_double(*args.values[i], 0);
  if (v[2] == 0) return Dim(0);
  const double count = std::ceil((v[1] - v[0]) / v[2]);
  if (!(count > 0)) return Dim(0);  // of no number, too
  // Beyond 64 bits there is no size.
  return count < 0x1p62 ? Dim(static_cast<std::int64_t>(count)) : Dim(-1);
}

Result<Type> infer_arange(const InferArgs& args) {
  const auto p = relay::read_attrs<ArangeAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_same_dtype(args));
  for (std::size_t i = 0; i < 3; ++i) TESSERA_TRY_VOID(expect_rank(args, i, 0));
  if (args.values[2] != nullptr && element_as_double(*args.values[2], 0) == 0) {
    return refuse(args, Code::kShapeMismatch, "has a step of 0");
  }
  return tensor_type({length(args)}, p.dtype.value_or(args.operands[0].dtype()));
}

std::vector<Tensor> eval_arange(const EvalArgs& args) {
  return in_domain(args.operands[0].dtype, [&]<class T>(T) -> std::vector<Tensor> {
    const T start = values_of<T>(args.operands[0])[0], step = values_of<T>(args.operands[2])[0];
    const std::int64_t count = static_shape(args.result)[0];
    std::vector<T> out;
    for (std::int64_t i = 0; i < count; ++i) {
      out.push_back(wrapping_add(start, wrapping_multiply(static_cast<T>(i), step)));
    }
    if (!args.result.dtype().is_float())
      return {tensor_of(args.result, Ints(out.begin(), out.end()))};
    return {tensor_of(args.result, out)};
  });
}

// In double precision, as inference computes it of constants. A step of 0 has no elements.
Definitions shape_of_arange(const ComputeArgs& args) {
  return define_sizes(1, [&](std::size_t) {
    const auto number = [&](std::size_t k) { return tir::cast(args.operands[k]({}), kFloat64); };
    const Expr start = number(0), stop = number(1), step = number(2);
    const Expr zero = tir::float_imm(0, kFloat64);
    const Expr steps = tir::call("ceil", {(stop - start) / step});
    return tir::select(tir::eq(step, zero), zero, tir::max(zero, steps));
  });
}

}  // namespace

constexpr Operator kArange{
    .name = "arange",
    .doc =
        "y[i] = start + i * step, ceil((stop - start) / step) elements   start, stop, step: T[] -> "
        "dtype[n]",
    .operands = {"start", "stop", "step"},
    .attrs = relay::attr_schema<ArangeAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_arange,
    .eval = eval_arange,
    .compute =
        [](const ComputeArgs& args) {
          return define(args, "y", [&](const Indices& i) {
            const Expr start = args.operands[0]({}), step = args.operands[2]({});
            return tir::cast(start + tir::cast(i[0], start.dtype()) * step, result_dtype(args));
          });
        },
    .shape = shape_of_arange,
    .shape_need = {ShapeNeed::kData, ShapeNeed::kData, ShapeNeed::kData},
    .samples = {"arange(int64[]=0, int64[]=7, int64[]=1)",
                "arange(float32[]=1, float32[]=2, float32[]=0.3)",
                "arange(int32[]=10, int32[]=0, int32[]=-3)",
                "arange(int64[]=3, int64[]=3, int64[]=1)",
                "arange(int32[]=0, int32[]=4, int32[]=1, dtype=\"float32\")"},
};

}  // namespace tessera::ops
