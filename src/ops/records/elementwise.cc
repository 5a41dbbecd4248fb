// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"

#include "support/check.h"

namespace tessera::ops {
namespace {

// Results of integer functions on bool or into bool are 0 or 1, which is what a bool holds.
template <class T, class F>
Tensor map_elements(const EvalArgs& args, F f) {
  Elements<T> values = values_of<T>(args.operands[0]);
  for (T& v : values) v = f(v);
  return tensor_of(args.result, values);
}

template <class T, class F>
Tensor map_pairs(const EvalArgs& args, F f) {
  const Elements<T> x = values_of<T>(args.operands[0]), y = values_of<T>(args.operands[1]);
  const Ints shape = static_shape(args.result);
  const Ints x_strides = broadcast_strides(args.operands[0].shape, shape);
  const Ints y_strides = broadcast_strides(args.operands[1].shape, shape);
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(count_of(shape)));
  for (Counter c(shape); c; ++c) {
    out.push_back(static_cast<T>(f(x[c.offset(x_strides)], y[c.offset(y_strides)])));
  }
  if (args.result.dtype().is_float() || std::is_same_v<T, std::int64_t>) {
    return tensor_of(args.result, out);
  }
  return tensor_of(args.result, Ints(out.begin(), out.end()));  // float comparison into bool
}

}  // namespace

std::vector<Tensor> eval_unary(const EvalArgs& args, UnaryFunction f) {
  const bool is_float = args.operands[0].dtype.is_float();
  TESSERA_CHECK(is_float ? f.on_float != nullptr : f.on_int != nullptr, "no evaluation of {}",
                to_string(args.operands[0].dtype));
  if (!is_float) return {map_elements<std::int64_t>(args, f.on_int)};
  if (args.result.dtype().is_float()) return {map_elements<double>(args, f.on_float)};
  const Elements<double> x = values_of<double>(args.operands[0]);
  Ints out;
  for (double v : x) out.push_back(static_cast<std::int64_t>(f.on_float(v)));
  return {tensor_of(args.result, out)};
}

Definitions compute_unary(const ComputeArgs& args, Expr (*f)(Expr)) {
  return define(args, "y", [&](const Indices& i) { return f(args.operands[0](i)); });
}

std::vector<Tensor> eval_with_parameters(const EvalArgs& args, double a, double b,
                                         double (*f)(double, double, double)) {
  return {map_elements<double>(args, [=](double x) { return f(x, a, b); })};
}

Definitions compute_with_parameters(const ComputeArgs& args, double a, double b,
                                    Expr (*f)(Expr, Expr, Expr)) {
  const DType dtype = result_dtype(args);
  const DType wide = accumulator(dtype);
  return define(args, "y", [&](const Indices& i) {
    const Expr x = widened(args.operands[0](i));
    return tir::cast(f(x, tir::imm(a, wide), tir::imm(b, wide)), dtype);
  });
}

Result<Type> infer_binary(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_same_dtype(args));
  TESSERA_TRY(Shape shape,
              broadcast_shapes(args, args.operands[0].shape(), args.operands[1].shape()));
  return tensor_type(std::move(shape), args.operands[0].dtype());
}

Result<Type> infer_binary_int(const InferArgs& args) {
  const DType dtype = args.operands[0].dtype();
  if (!dtype.is_int() && !dtype.is_bool()) {
    return refuse(args, Code::kDtypeMismatch, "needs integers, found {}", to_string(dtype));
  }
  return infer_binary(args);
}

Result<Type> infer_comparison(const InferArgs& args) {
  TESSERA_TRY(Type t, infer_binary(args));
  return tensor_type(t.shape(), kBool);
}

Result<Type> infer_logical(const InferArgs& args) {
  for (const Type& t : args.operands) {
    if (!t.dtype().is_bool()) {
      return refuse(args, Code::kDtypeMismatch, "needs bool operands, found {}",
                    to_string(t.dtype()));
    }
  }
  if (args.operands.size() == 1) return args.operands[0];
  return infer_binary(args);
}

Result<Type> infer_predicate(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_float(args, 0));
  return tensor_type(args.operands[0].shape(), kBool);
}

std::vector<Tensor> eval_binary(const EvalArgs& args, BinaryFunction f) {
  const DType dtype = args.operands[0].dtype;
  if (dtype.is_float()) return {map_pairs<double>(args, f.on_float)};
  TESSERA_CHECK(f.on_int != nullptr, "no evaluation of {}", to_string(dtype));
  if (dtype == kUInt64 && f.on_uint64 != nullptr) {
    return {map_pairs<std::int64_t>(args, [&](std::int64_t x, std::int64_t y) {
      return static_cast<std::int64_t>(
          f.on_uint64(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
    })};
  }
  return {map_pairs<std::int64_t>(args, f.on_int)};
}

Definitions compute_binary(const ComputeArgs& args, Expr (*f)(Expr, Expr)) {
  const std::vector<Expr> shape = result_shape(args);
  return define(args, "y", [&](const Indices& i) {
    return f(broadcast_read(args.operands[0], shape, i),
             broadcast_read(args.operands[1], shape, i));
  });
}

}  // namespace tessera::ops
