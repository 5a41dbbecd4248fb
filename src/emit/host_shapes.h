// SPDX-License-Identifier: Apache-2.0
// What a program says about the shapes of its inputs and outputs for values of its dimensions.
#pragma once

#include "emit/kernel_expr.h"
#include "tir/prim_func.h"

namespace tessera::emit {

// The formal dimensions as C variables, from an array of int64_t.
Source define_dims(const tir::PrimFunc& main, KernelScope& scope, Literal array);

// The function tessera_shapes_of_outputs; `main` has formal dimensions.
Source emit_output_shapes(const tir::PrimFunc& main);
// The function tessera_size_of_input, and whether an input has a dimension that is an expression.
Source emit_input_size(const tir::PrimFunc& main);
bool has_input_expressions(const tir::PrimFunc& main);

}  // namespace tessera::emit
