// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"
#include "ops/records/pooling.h"

namespace tessera::ops {
namespace {

const std::string& out_layout(const GlobalPool2DAttrs& p) {
  return p.out_layout.empty() ? p.layout : p.out_layout;
}

}  // namespace

Result<Type> infer_global_pool(const InferArgs& args) {
  const auto p = relay::read_attrs<GlobalPool2DAttrs>(args.attrs);
  const Type& x = args.operands[0];
  TESSERA_TRY_VOID(expect_rank(args, 0, 4));
  TESSERA_TRY(const Places data, layout_places(args, p.layout, "NC", 2));
  TESSERA_TRY(const Places result, layout_places(args, out_layout(p), "NC", 2));
  return tensor_type(
      result.stored(x.shape()[data.first], x.shape()[data.second], Shape{Dim(1), Dim(1)}),
      x.dtype());
}

std::vector<Tensor> eval_global_pool(const EvalArgs& args, PoolKind kind) {
  const auto p = relay::read_attrs<GlobalPool2DAttrs>(args.attrs);
  const Tensor& x = args.operands[0];
  const Places data = known_places(p.layout, "NC", 2);
  const Places result = known_places(out_layout(p), "NC", 2);
  const Ints shape = static_shape(args.result), strides = row_major_strides(shape);
  const std::int64_t area = x.shape[data.spatial[0]] * x.shape[data.spatial[1]];
  return in_domain(x.dtype, [&]<class T>(T) -> std::vector<Tensor> {
    const Elements<T> values = values_of<T>(x);
    const bool is_max = kind == PoolKind::kMax;
    Elements<T> out(count_of(shape), is_max ? least_of<T>(x.dtype) : T(0));
    std::size_t at = 0;
    for (Counter c(x.shape); c; ++c, ++at) {
      T& to = out[c[data.first] * strides[result.first] + c[data.second] * strides[result.second]];
      to = is_max ? max_or_nan(to, values[at]) : wrapping_add(to, values[at]);
    }
    if (area == 0 && !x.dtype.is_float()) return {tensor_of(args.result, out)};
    for (T& v : out) v = is_max ? v : v / static_cast<T>(area);
    return {tensor_of(args.result, out)};
  });
}

Definitions compute_global_pool(const ComputeArgs& args, PoolKind kind) {
  const auto p = relay::read_attrs<GlobalPool2DAttrs>(args.attrs);
  const TensorExpr& x = args.operands[0];
  const Places data = known_places(p.layout, "NC", 2);
  const Places result = known_places(out_layout(p), "NC", 2);
  const Expr height = x.shape()[data.spatial[0]], width = x.shape()[data.spatial[1]];
  const std::vector<IterAxis> over{tir::reduce_axis(height, "h"), tir::reduce_axis(width, "w")};
  const bool is_max = kind == PoolKind::kMax;
  const TensorExpr pooled = tir::compute(
      "pooled", result_shape(args),
      [&](const Indices& i) {
        const Expr v =
            x(data.stored(i[result.first], i[result.second], {over[0].var, over[1].var}));
        return is_max ? tir::reduce(ReduceOp::kMax, over, v) : tir::sum(over, widened(v));
      },
      "pool");
  if (is_max) return {pooled};
  return define(args, "average", [&](const Indices& i) {
    return tir::cast(pooled(i) / tir::cast(height * width, pooled.dtype()), x.dtype());
  });
}

}  // namespace tessera::ops
