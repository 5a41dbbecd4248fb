// SPDX-License-Identifier: Apache-2.0
// The sizes of a function's results, computed from those of its arguments on the host.
#pragma once

#include <functional>
#include <span>
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

// The same for a host program, which knows all sizes of the arguments by name: a kernel that
// computes the sizes without a name, and checks those that must agree at run time.
struct RunTimeSizes {
  // Inputs: data of parameters; output: int64, one element a new size; none where it only checks.
  tir::PrimFunc func;
  std::vector<std::size_t> data;     // which parameters
  std::vector<Dim> dims;             // values of the formal dimensions
  std::vector<std::string> symbols;  // names of the new sizes
  relay::Function function;          // with them in its types; without calls of literals
};
Result<RunTimeSizes> derive_run_time_sizes(const relay::Function& f, const ConstantPool& pool,
                                           std::function<std::string()> fresh_symbol);
// The function with a name for each `?` of its types, that of a parameter and that of a result
// which depends on data.
Result<relay::Function> with_names_for_sizes(const relay::Function& f, const ConstantPool& pool);
// Does a type lack a size, or might sizes disagree at run time?
bool needs_run_time_sizes(const relay::Function& f);
bool needs_run_time_sizes(const relay::Function& f, std::span<const relay::NodeId> nodes);

// The operators of a function, those in literals included, in order of evaluation.
std::vector<std::string> operator_names(const relay::Function& f);

}  // namespace tessera::lower
