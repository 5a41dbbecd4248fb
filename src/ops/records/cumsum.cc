// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/reduce.h"
#include "ops/records/elementwise.h"
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

Result<Type> infer_cumsum(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<ScanAttrs>(args.attrs);
  const DType dtype = p.dtype.value_or(data.dtype());
  if (!p.axis) return tensor_type({num_elements(data.shape())}, dtype);
  TESSERA_TRY_VOID(normal_axis(args, *p.axis, data.rank()));
  return tensor_type(data.shape(), dtype);
}

std::vector<Tensor> eval_cumsum(const EvalArgs& args) {
  const auto p = relay::read_attrs<ScanAttrs>(args.attrs);
  const Ints shape = static_shape(args.result);
  const std::int64_t axis = front_axis(p.axis.value_or(0), shape.size());
  const std::int64_t stride = row_major_strides(shape)[axis];
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    const Elements<T> x = values_of<T>(args.operands[0]);
    Elements<T> out;
    for (Counter c(shape); c; ++c) {
      const std::size_t at = out.size();
      const T before = c[axis] == 0 ? T(0) : out[at - stride];
      if (p.exclusive) {
        out.push_back(c[axis] == 0 ? T(0) : wrapping_add(before, x[at - stride]));
      } else {
        out.push_back(wrapping_add(before, x[at]));
      }
    }
    return {tensor_of(args.result, out)};
  });
}

// Each element sums what precedes it: quadratic along the axis, but every element is independent.
Definitions compute_cumsum(const ComputeArgs& args) {
  const auto p = relay::read_attrs<ScanAttrs>(args.attrs);
  const TensorExpr& x = args.operands[0];
  const std::vector<Expr> shape = result_shape(args);
  const std::int64_t axis = front_axis(p.axis.value_or(0), shape.size());
  const DType dtype = result_dtype(args), wide = accumulator(dtype);
  const IterAxis k = tir::reduce_axis(shape[axis], "k");
  const TensorExpr total = tir::compute(
      "total", shape,
      [&](const Indices& i) {
        Indices at = i;
        at[axis] = k.var;
        if (!p.axis) at = reshaped_index(x.shape(), shape, at);
        const Expr precedes = p.exclusive ? tir::lt(k.var, i[axis]) : tir::le(k.var, i[axis]);
        return tir::sum({k}, tir::select(precedes, tir::cast(x(at), wide), zero(wide)));
      },
      "scan");
  return {converted(total, dtype)};
}

}  // namespace

constexpr Operator kCumsum{
    .name = "cumsum",
    .doc =
        "y[a..., i, b...] = the sum of data[a..., k, b...] over k <= i (k < i if exclusive); "
        "without axis, "
        "of the flattened tensor   data: T[d...] -> dtype[d...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ScanAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_cumsum,
    .eval = eval_cumsum,
    .compute = compute_cumsum,
    .samples = {"cumsum(float32[2,5], axis=1)", "cumsum(int64[3,4], axis=0, exclusive=True)",
                "cumsum(float16[2,3])", "cumsum(int32[2,3], axis=-1, dtype=\"int64\")",
                "cumsum(float32[0,3], axis=1)"},
};

}  // namespace tessera::ops
