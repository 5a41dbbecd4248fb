// SPDX-License-Identifier: Apache-2.0
// Element-wise operators: one scalar function for each element, with numpy broadcasting of
// operands. An operator gives the function three times: on numbers (eval, one generic lambda), on
// expressions (compute).
#pragma once

#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

// A scalar function in both domains; null where the operator does not take such operands.
struct UnaryFunction {
  double (*on_float)(double) = nullptr;
  std::int64_t (*on_int)(std::int64_t) = nullptr;
};
struct BinaryFunction {
  double (*on_float)(double, double) = nullptr;
  std::int64_t (*on_int)(std::int64_t, std::int64_t) = nullptr;
  std::uint64_t (*on_uint64)(std::uint64_t, std::uint64_t) = nullptr;
};

// From a generic lambda without captures.
template <class F>
UnaryFunction each_domain_unary(F) {
  return {[](double x) -> double { return F{}(x); },
          [](std::int64_t x) -> std::int64_t { return F{}(x); }};
}
template <class F>
BinaryFunction each_domain(F) {
  return {[](double x, double y) -> double { return F{}(x, y); },
          [](std::int64_t x, std::int64_t y) -> std::int64_t { return F{}(x, y); },
          [](std::uint64_t x, std::uint64_t y) -> std::uint64_t { return F{}(x, y); }};
}

std::vector<Tensor> eval_unary(const EvalArgs& args, UnaryFunction f);
inline std::vector<Tensor> eval_unary(const EvalArgs& args, double (*f)(double)) {
  return eval_unary(args, UnaryFunction{f, nullptr});
}
Definitions compute_unary(const ComputeArgs& args, Expr (*f)(Expr));

// With a number from the attributes.
std::vector<Tensor> eval_with_parameters(const EvalArgs& args, double a, double b,
                                         double (*f)(double x, double a, double b));
Definitions compute_with_parameters(const ComputeArgs& args, double a, double b,
                                    Expr (*f)(Expr x, Expr a, Expr b));

Result<Type> infer_binary(const InferArgs& args);  // equal dtypes, broadcast
Result<Type> infer_binary_int(const InferArgs& args);
Result<Type> infer_comparison(const InferArgs& args);  // bool
Result<Type> infer_logical(const InferArgs& args);     // bool -> bool
Result<Type> infer_predicate(const InferArgs& args);   // float -> bool
std::vector<Tensor> eval_binary(const EvalArgs& args, BinaryFunction f);
Definitions compute_binary(const ComputeArgs& args, Expr (*f)(Expr, Expr));

// Integer arithmetic that wraps instead of being undefined.
inline double wrapping_add(double x, double y) { return x + y; }
inline double wrapping_subtract(double x, double y) { return x - y; }
inline double wrapping_multiply(double x, double y) { return x * y; }
inline std::uint64_t wrapping_add(std::uint64_t x, std::uint64_t y) { return x + y; }
inline std::uint64_t wrapping_subtract(std::uint64_t x, std::uint64_t y) { return x - y; }
inline std::uint64_t wrapping_multiply(std::uint64_t x, std::uint64_t y) { return x * y; }
inline std::int64_t wrapping_add(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
}
inline std::int64_t wrapping_subtract(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y));
}
inline std::int64_t wrapping_multiply(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
}

}  // namespace tessera::ops
