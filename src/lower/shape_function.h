// SPDX-License-Identifier: Apache-2.0
// The sizes of a function's results, computed from those of its arguments on the host.
#pragma once

#include <string>
#include <vector>

#include "constants/pool.h"
#include "relay/function.h"
#include "tir/prim_func.h"

namespace tessera::lower {

// Inputs: for each parameter, its data where they matter, then one int64 vector a tensor with its
// sizes where these matter; outputs: sizes of the tensors of the result. A vector of rank-0 tensors
// has no dimension either.
struct ShapeFunction {
  tir::PrimFunc func;
  // By parameter: 0 not used, 1 its data, 2 its shape, 3 both.
  std::vector<int> states;
  std::vector<std::string> operators;  // in order of evaluation
};

// Derived operator by operator from type inference, with a symbol for each size that is only known
// at run time; literals are followed into their bodies. Fails where a size depends on computed
// data. Types must be known.
Result<ShapeFunction> derive_shape_function(const relay::Function& f, const ConstantPool& pool);

// The operators of a function, those in literals included, in order of evaluation.
std::vector<std::string> operator_names(const relay::Function& f);

}  // namespace tessera::lower
