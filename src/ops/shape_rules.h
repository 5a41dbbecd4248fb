// SPDX-License-Identifier: Apache-2.0
// The sizes of results that depend on the data of operands: what inference cannot say as long as
// the data are not known, in loop IR, for shape functions.
#pragma once

#include <functional>
#include <vector>

#include "relay/operator.h"
#include "tir/expr.h"

namespace tessera::ops {

// One element of an operand.
using ReadOperand =
    std::function<tir::Expr(std::size_t operand, const std::vector<tir::Expr>& index)>;
// The sizes of the result, a tensor, as int64.
using ShapeRule = std::vector<tir::Expr> (*)(const ReadOperand& read);

// Null where there is none: the operator's sizes do not depend on data, or nobody can say how.
ShapeRule find_shape_rule(const relay::Operator& op);

}  // namespace tessera::ops
