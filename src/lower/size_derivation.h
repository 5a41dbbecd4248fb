// SPDX-License-Identifier: Apache-2.0
// The sizes of a function's values as expressions, operator by operator: from type inference, from
// the shape definitions of operators whose results depend on data, and from numpy's rule where two
// sizes are only known at run time. Shape functions (lower-te) and host programs (lower) use it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "constants/pool.h"
#include "relay/function.h"
#include "relay/operator.h"
#include "tir/stmt.h"
#include "tir/tensor_expr.h"

namespace tessera::lower {

// How the expressions get at what is outside of the function.
struct SizeSource {
  // The value of a symbol in the parameters' types.
  std::function<tir::Expr(const std::string& symbol)> size;
  // The data of a parameter.
  std::function<tir::Buffer(relay::NodeId param)> data;
  // A symbol for a size that has no name yet.
  std::function<std::string()> fresh_symbol;
};

class SizeDerivation {
 public:
  // A size that no expression of the parameters' sizes is; `var` has its value in `around`.
  struct Size {
    std::string symbol;
    tir::Expr var;
  };

  // `f` is free of calls of literals, and its types are known.
  SizeDerivation(const relay::Function& f, const ConstantPool& pool, SizeSource source);

  // What the size of the result depends on: by parameter, 1 its data, 2 its shape, 3 both. Fails
  // where computed data are among that.
  Result<std::vector<int>> find_needs();
  // Parameters have the types that the function says, unless others are given here.
  void set_type(relay::NodeId param, Type type) { types_[param.index()] = std::move(type); }
  // Needs find_needs. Then types have a name for every size.
  Result<void> derive();

  const Type& type(relay::NodeId id) const {
    return types_[id.index()] ? types_[id.index()] : f_.type(id);
  }
  const std::vector<Size>& sizes() const { return sizes_; }
  // The value of a size of these types; inside of `around` alone.
  tir::Expr expr(const Dim& dim) const;
  // The statement with all sizes computed, and what they must satisfy checked, before it.
  tir::Stmt around(tir::Stmt body) const;
  // Is there anything to compute or to check?
  bool is_trivial() const { return steps_.empty(); }

 private:
  struct Step {
    tir::Expr var, value;  // a size; or
    tir::Buffer total;     // a sum over data, which `fill` computes; or
    tir::Stmt fill;        // alone: a check
  };

  bool can_read(relay::NodeId operand);
  Result<void> define(relay::NodeId id);
  std::vector<Type> operand_types(relay::NodeId id) const;
  Result<Type> type_of_call(relay::NodeId id);
  Type by_definition(relay::NodeId id, const Type& type, const std::vector<Type>& operands,
                     const std::vector<const Tensor*>& values);
  Type broadcast(relay::NodeId id, const Type& type, const std::vector<Type>& operands);
  Dim broadcast_size(relay::NodeId id, std::size_t axis, Dim known, const std::vector<Dim>& sizes);
  void must_be(relay::NodeId id, std::size_t axis, const tir::Expr& size, const Dim& known);
  tir::Expr read(relay::NodeId operand, const Tensor* value, const std::vector<tir::Expr>& index);
  tir::Expr total_of(const tir::TensorRef& tensor, const std::function<tir::Expr(tir::Expr)>& read);
  void agree(relay::NodeId id, const relay::Agreement& agreement);
  Dim fresh(const tir::Expr& value);
  void require(const tir::Expr& condition, std::string sentence, std::vector<tir::Expr> values);

  const relay::Function& f_;
  const ConstantPool& pool_;
  SizeSource source_;
  std::vector<bool> needed_;       // its shape, by node
  std::vector<bool> data_needed_;  // of parameters
  std::vector<Type> types_;        // of the nodes that are needed
  std::vector<Size> sizes_;
  std::vector<Step> steps_;
};

// The type with a number for each `?` that the other, of the same value, knows as one.
Type with_numbers_of(const Type& known, const Type& type);
// Are operands of a call broadcast against each other whose sizes may not fit at run time?
bool has_open_broadcast(const relay::Operator& op, const std::vector<Type>& operands,
                        const Type& result);
// Does the operator define its result's sizes by something that only a run can tell? Then what
// inference knows of them, by more than the function itself says, has to be that.
bool has_open_definition(const relay::Function& f, relay::NodeId call,
                         const std::vector<Type>& operands);
// Sizes of a result that may turn out to be below zero: a window may be larger than what it is
// over.
std::vector<Dim> open_sizes(const Type& result, const std::vector<Type>& operands);
// Sizes of a call's operands that must be the same, which only a run can tell.
std::vector<relay::Agreement> open_agreements(const relay::Function& f, relay::NodeId call,
                                              const std::vector<Type>& operands);

}  // namespace tessera::lower
