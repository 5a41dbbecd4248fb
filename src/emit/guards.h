// SPDX-License-Identifier: Apache-2.0
// Conditions on indices under which kernels read and write, as compilers for a CPU should see them.
#pragma once

#include <optional>

#include "tir/index_form.h"

namespace tessera::emit {

// 0 <= index < size
struct IndexWindow {
  tir::Expr index;
  std::int64_t size = 0;
};
// What both comparisons say together, where that is one: one instruction on numbers without sign.
std::optional<IndexWindow> window_of(const tir::Expr& one, const tir::Expr& other,
                                     const tir::Bounds& bounds);

// A vectorised loop from 0, and how many elements the longest vectors of it have.
struct Lanes {
  tir::Expr var;
  std::int64_t most = 0;  // a power of two; 0: no such loop
};
// Is the comparison, in each vector of the loop, true of all elements or of none?
bool is_uniform(const tir::Expr& comparison, const Lanes& lanes, const tir::Bounds& bounds);

}  // namespace tessera::emit
