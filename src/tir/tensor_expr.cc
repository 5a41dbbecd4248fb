// SPDX-License-Identifier: Apache-2.0
#include "tir/tensor_expr.h"

#include <limits>

#include <fmt/format.h>

#include "tir/buffer.h"
#include "tir/destroy.h"

namespace tessera::tir {
namespace {

TensorNode* new_tensor(std::string name, std::vector<Expr> shape, DType dtype) {
  auto* t = new TensorNode;
  t->name = std::move(name);
  t->shape = std::move(shape);
  t->dtype = dtype;
  return t;
}

// The greatest (sign > 0) or least finite or infinite value that `dtype` holds.
Expr extreme(DType dtype, int sign) {
  if (dtype.is_float()) return float_imm(sign * std::numeric_limits<double>::infinity(), dtype);
  if (dtype.is_bool()) return bool_imm(sign > 0);
  if (dtype.is_unsigned_int()) return int_imm(sign > 0 ? wrap_int(-1, dtype) : 0, dtype);
  const std::int64_t top =
      static_cast<std::int64_t>(~std::uint64_t{0} >> 1) >> (64 - static_cast<int>(dtype.bits));
  return int_imm(sign > 0 ? top : -top - 1, dtype);
}

}  // namespace

void TensorNode::destroy(const TensorNode* t) { drop_node(t); }

Expr TensorExpr::operator()(std::vector<Expr> indices) const {
  TESSERA_CHECK(indices.size() == rank(), "`{}` has {} dimensions and is read with {} indices",
                node_->name, rank(), indices.size());
  return Read::make(dtype(), node_, std::move(indices));
}

TensorExpr input_tensor(std::string name, std::vector<Expr> shape, DType dtype) {
  return TensorExpr(TensorRef(new_tensor(std::move(name), std::move(shape), dtype)));
}

TensorExpr constant_tensor(std::string name, Tensor data) {
  std::vector<Expr> shape(data.shape.begin(), data.shape.end());
  auto* t = new_tensor(std::move(name), std::move(shape), data.dtype);
  TensorRef owner(t);
  t->table = std::make_shared<const Tensor>(std::move(data));
  t->data = t->table.get();
  return TensorExpr(std::move(owner));
}

TensorExpr compute(std::string name, std::vector<Expr> shape,
                   const std::function<Expr(const Indices&)>& element, std::string tag) {
  auto* t = new_tensor(std::move(name), std::move(shape), {});
  TensorRef owner(t);
  for (std::size_t i = 0; i < t->shape.size(); ++i) {
    t->axes.push_back(make_var(fmt::format("i{}", i)));
  }
  t->body = element(t->axes);
  TESSERA_CHECK(t->body, "the definition of `{}` has no body", t->name);
  t->dtype = t->body.dtype();
  t->tag = std::move(tag);
  return TensorExpr(std::move(owner));
}

IterAxis reduce_axis(Expr extent, std::string name) {
  return {make_var(std::move(name)), std::move(extent)};
}

Expr reduce(ReduceOp op, std::vector<IterAxis> axes, Expr value) {
  const DType dtype = value.dtype();
  return Reduce::make(dtype, op, std::move(axes), std::move(value));
}

Expr sum(std::vector<IterAxis> axes, Expr value) {
  return reduce(ReduceOp::kSum, std::move(axes), std::move(value));
}

Expr reduce_identity(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::kSum:
      return imm(0, dtype);
    case ReduceOp::kProd:
      return imm(1, dtype);
    case ReduceOp::kMax:
      return extreme(dtype, -1);
    case ReduceOp::kMin:
      return extreme(dtype, 1);
    case ReduceOp::kAny:
      return bool_imm(false);
    case ReduceOp::kAll:
      return bool_imm(true);
  }
  TESSERA_UNREACHABLE("reduction {}", static_cast<int>(op));
}

Expr reduce_step(ReduceOp op, Expr accumulator, Expr value) {
  switch (op) {
    case ReduceOp::kSum:
      return std::move(accumulator) + std::move(value);
    case ReduceOp::kProd:
      return std::move(accumulator) * std::move(value);
    case ReduceOp::kMax:
      return max(std::move(accumulator), std::move(value));
    case ReduceOp::kMin:
      return min(std::move(accumulator), std::move(value));
    case ReduceOp::kAny:
      return logical_or(std::move(accumulator), std::move(value));
    case ReduceOp::kAll:
      return logical_and(std::move(accumulator), std::move(value));
  }
  TESSERA_UNREACHABLE("reduction {}", static_cast<int>(op));
}

}  // namespace tessera::tir
