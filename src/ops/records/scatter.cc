// SPDX-License-Identifier: Apache-2.0
#include "ops/records/scatter.h"

#include "ops/records/elementwise.h"
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

template <class T>
T updated(T old, T update, const std::string& mode) {
  if (mode == "add") return wrapping_add(old, update);
  if (mode == "mul") return wrapping_multiply(old, update);
  if (mode == "min") return min_or_nan(old, update);
  if (mode == "max") return max_or_nan(old, update);
  return update;
}

ReduceOp reduction_of(const std::string& mode) {
  if (mode == "add") return ReduceOp::kSum;
  if (mode == "mul") return ReduceOp::kProd;
  return mode == "min" ? ReduceOp::kMin : ReduceOp::kMax;
}

}  // namespace

Result<void> expect_scatter_mode(const InferArgs& args, const std::string& mode) {
  for (const char* known : {"update", "add", "mul", "min", "max"}) {
    if (mode == known) return {};
  }
  return refuse(args, Code::kWrongAttribute,
                "cannot scatter by \"{}\"; it is update, add, mul, min or max", mode);
}

double scattered(double old, double update, const std::string& mode) {
  return updated(old, update, mode);
}
std::int64_t scattered(std::int64_t old, std::int64_t update, const std::string& mode) {
  return updated(old, update, mode);
}

Definitions compute_scatter(const ComputeArgs& args, const std::string& mode,
                            const std::vector<IterAxis>& updates,
                            const std::function<Expr(const Indices&, const Indices&)>& hits,
                            const std::function<Expr(const Indices&, const Indices&)>& update) {
  const TensorExpr& data = args.operands[0];
  std::vector<Expr> extents;
  Indices vars;
  Expr flat = 0;
  for (const IterAxis& a : updates) {
    extents.push_back(a.extent);
    vars.push_back(a.var);
    flat = tir::is_int(flat, 0) ? a.var : flat * a.extent + a.var;
  }
  const DType dtype = data.dtype();
  if (mode != "update") {
    const ReduceOp op = reduction_of(mode);
    const TensorExpr folded = tir::compute(
        "folded", data.shape(),
        [&](const Indices& i) {
          const Expr none = tir::reduce_identity(op, dtype);
          return tir::reduce(op, updates, tir::select(hits(i, vars), update(i, vars), none));
        },
        "scatter");
    return define(args, "y",
                  [&](const Indices& i) { return tir::reduce_step(op, data(i), folded(i)); });
  }
  // The place of the last update that hits, or -1.
  const TensorExpr last = tir::compute(
      "last", data.shape(),
      [&](const Indices& i) {
        return tir::reduce(ReduceOp::kMax, updates, tir::select(hits(i, vars), flat, Expr(-1)));
      },
      "scatter");
  Expr count = 1;
  for (const Expr& e : extents) count = count * e;
  return define(args, "y", [&](const Indices& i) {
    const Indices u = reshaped_index(extents, {count}, {last(i)});
    // The second half always holds: it is there for the proof that `update` reads inside.
    const Expr hit = tir::logical_and(tir::ge(last(i), 0), tir::lt(last(i), count));
    return tir::select(hit, update(i, u), data(i));
  });
}

}  // namespace tessera::ops
