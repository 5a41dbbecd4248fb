// SPDX-License-Identifier: Apache-2.0
// Tensor definitions: what an operator's `compute` returns. A definition says one element as a
// function of its indices; `lower/` fuses definitions and turns them into loops. After Halide and
// TVM's te.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "constants/tensor.h"
#include "tir/expr.h"
#include "types/dim.h"

namespace tessera::tir {

// An axis with its range [0, extent).
struct IterAxis {
  Expr var;     // a Var of int64
  Expr extent;  // int64
};

// An input (no body), constant data, or the definition `body(axes)`.
struct TensorNode : RefCounted {
  std::string name;
  std::vector<Expr> shape;
  DType dtype;
  std::vector<Expr> axes;  // Vars, one a dimension; empty for inputs of rank > 0 and constants
  Expr body;               // null: an input; a Reduce node only at its root
  const Tensor* data = nullptr;  // a compile-time table (Winograd matrices, ...); owned by `table`
  std::shared_ptr<const Tensor> table;
  std::string
      tag;  // what a schedule rule may recognise: "matmul", "conv2d", "pool", "softmax", ...
  static void destroy(const TensorNode* t);
};

// A handle to a definition; `t(i, j)` is a read of one element.
class TensorExpr {
 public:
  TensorExpr() = default;
  explicit TensorExpr(TensorRef node) : node_(std::move(node)) {}
  const TensorNode* operator->() const { return node_.get(); }
  const TensorRef& ref() const { return node_; }
  explicit operator bool() const { return static_cast<bool>(node_); }
  std::size_t rank() const { return node_->shape.size(); }
  const std::vector<Expr>& shape() const { return node_->shape; }
  DType dtype() const { return node_->dtype; }
  Expr operator()(std::vector<Expr> indices) const;

 private:
  TensorRef node_;
};

using Indices = std::vector<Expr>;

TensorExpr input_tensor(std::string name, std::vector<Expr> shape, DType dtype);
TensorExpr constant_tensor(std::string name, Tensor data);
// y[i...] = element(i...). `element` may return a `reduce(...)`.
TensorExpr compute(std::string name, std::vector<Expr> shape,
                   const std::function<Expr(const Indices&)>& element, std::string tag = {});
// A fresh reduction axis.
IterAxis reduce_axis(Expr extent, std::string name);
Expr reduce(ReduceOp op, std::vector<IterAxis> axes, Expr value);
Expr sum(std::vector<IterAxis> axes, Expr value);
// What a reduction starts from, and one step of it.
Expr reduce_identity(ReduceOp op, DType dtype);
Expr reduce_step(ReduceOp op, Expr accumulator, Expr value);

}  // namespace tessera::tir
