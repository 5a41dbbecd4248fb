// SPDX-License-Identifier: Apache-2.0
// What it costs to compute one element, in vectorised additions of float32; roughly.
#pragma once

#include "tir/expr.h"

namespace tessera::lower {

// Index arithmetic and plain loads are free.
double element_cost(const tir::Expr& e);
// A literal, a variable, or an element of something else, perhaps converted: never worth a name.
bool is_trivial(const tir::Expr& e);

}  // namespace tessera::lower
