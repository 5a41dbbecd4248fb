// SPDX-License-Identifier: Apache-2.0
// What operators share whose result has the shape that an operand says.
#pragma once

#include "ops/records/definition.h"

namespace tessera::ops {

// The sizes in the list that is operand `i`: those that are known, `?` for others. The list's own
// length must be a number.
Result<Shape> shape_operand(const relay::InferArgs& args, std::size_t i);
// For `shape`: a definition of int64[count] by its elements; one below zero says that the operands
// do not fit.
Definitions define_sizes(std::size_t count, const std::function<Expr(std::size_t)>& element);
// For `shape`: the list that is operand 1.
Definitions shape_from_operand_1(const ComputeArgs& args);
// For `eval`: the elements of a list.
Ints list_of(const Tensor& t);

}  // namespace tessera::ops
