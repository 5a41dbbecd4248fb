// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

namespace tessera::ops {
namespace {

Result<Type> infer_where(const InferArgs& args) {
  const Type &condition = args.operands[0], &x = args.operands[1], &y = args.operands[2];
  if (!condition.dtype().is_bool()) {
    return refuse(args, Code::kDtypeMismatch, "the condition has the data type {}, not bool",
                  to_string(condition.dtype()));
  }
  if (x.dtype() != y.dtype()) {
    return refuse(args, Code::kDtypeMismatch, "branch types differ: {} vs {}", to_string(x.dtype()),
                  to_string(y.dtype()));
  }
  TESSERA_TRY(Shape branches, broadcast_shapes(args, x.shape(), y.shape()));
  TESSERA_TRY(Shape shape, broadcast_shapes(args, condition.shape(), branches));
  return tensor_type(std::move(shape), x.dtype());
}

std::vector<Tensor> eval_where(const EvalArgs& args) {
  const Ints shape = static_shape(args.result);
  const Elements<std::int64_t> condition = values_of<std::int64_t>(args.operands[0]);
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    const Elements<T> x = values_of<T>(args.operands[1]), y = values_of<T>(args.operands[2]);
    const Ints c_strides = broadcast_strides(args.operands[0].shape, shape);
    const Ints x_strides = broadcast_strides(args.operands[1].shape, shape);
    const Ints y_strides = broadcast_strides(args.operands[2].shape, shape);
    std::vector<T> out;
    for (Counter c(shape); c; ++c) {
      out.push_back(condition[c.offset(c_strides)] != 0 ? x[c.offset(x_strides)]
                                                        : y[c.offset(y_strides)]);
    }
    return {tensor_of(args.result, out)};
  });
}

Definitions compute_where(const ComputeArgs& args) {
  const std::vector<Expr> shape = result_shape(args);
  return define(args, "y", [&](const Indices& i) {
    return tir::select(broadcast_read(args.operands[0], shape, i),
                       broadcast_read(args.operands[1], shape, i),
                       broadcast_read(args.operands[2], shape, i));
  });
}

}  // namespace

constexpr Operator kWhere{
    .name = "where",
    .doc =
        "y[i...] = condition[i...] ? x[i...] : y[i...]"
        "   condition: bool[a...], x: T[b...], y: T[c...] -> T[broadcast(a, b, c)...]",
    .operands = {"condition", "x", "y"},
    .pattern = OpPattern::kBroadcast,
    .infer = infer_where,
    .eval = eval_where,
    .compute = compute_where,
    .onnx = {"Where"},
    .samples = {"where(bool[3,5], float32[3,5], float32[3,5])",
                "where(bool[3,1], int64[], int64[5])", "where(bool[], float16[2,3], float16[1,3])",
                "where(bool[0,2], float32[2], float32[1])", "where(bool[4], bool[4], bool[4])"},
};

}  // namespace tessera::ops
