// SPDX-License-Identifier: Apache-2.0
#include "ops/records/definition.h"

#include "ops/records/broadcast_index.h"
#include "tir/dim_vars.h"

namespace tessera::ops {
namespace {

const Type& result_field(const ComputeArgs& args, std::size_t field) {
  return args.result.is_tuple() ? args.result.fields()[field] : args.result;
}

}  // namespace

std::vector<Expr> result_shape(const ComputeArgs& args, std::size_t field) {
  return args.dims.shape(result_field(args, field).shape());
}

DType result_dtype(const ComputeArgs& args, std::size_t field) {
  return result_field(args, field).dtype();
}

Expr broadcast_read(const TensorExpr& t, const std::vector<Expr>& shape, const Indices& out) {
  const std::size_t skipped = out.size() - t.rank();
  Indices at;
  for (std::size_t i = 0; i < t.rank(); ++i) {
    at.push_back(broadcast_index(t.shape()[i], shape[i + skipped], out[i + skipped]));
  }
  return t(std::move(at));
}

Definitions define(const ComputeArgs& args, std::string name,
                   const std::function<Expr(const Indices&)>& element, std::string tag) {
  return {tir::compute(std::move(name), result_shape(args), element, std::move(tag))};
}

DType accumulator(DType dtype) { return dtype.is_float() && dtype.bits == 16 ? kFloat32 : dtype; }

Expr widened(Expr e) {
  const DType wide = accumulator(e.dtype());
  return tir::cast(std::move(e), wide);
}

Expr float_call(const char* name, Expr x) {
  const DType dtype = x.dtype();
  return tir::cast(tir::call(name, {widened(std::move(x))}), dtype);
}
Expr float_call(const char* name, Expr x, Expr y) {
  const DType dtype = x.dtype();
  return tir::cast(tir::call(name, {widened(std::move(x)), widened(std::move(y))}), dtype);
}

TensorExpr converted(TensorExpr stage, DType dtype) {
  if (stage.dtype() == dtype) return stage;
  return tir::compute("converted", stage.shape(),
                      [&](const Indices& i) { return tir::cast(stage(i), dtype); });
}

Expr one(DType dtype) { return tir::imm(1, dtype); }
Expr zero(DType dtype) { return tir::imm(0, dtype); }

Expr all_of(std::vector<Expr> conditions) {
  if (conditions.empty()) return tir::bool_imm(true);
  Expr all = conditions[0];
  for (std::size_t i = 1; i < conditions.size(); ++i) {
    all = tir::logical_and(std::move(all), std::move(conditions[i]));
  }
  return all;
}

}  // namespace tessera::ops
