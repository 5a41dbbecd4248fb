// SPDX-License-Identifier: Apache-2.0
// One reduction for each element, and what is made of it there: what fusion leaves of a convolution
// or a pooling with its activation.
#pragma once

#include <optional>
#include <vector>

#include "schedule/nest.h"

namespace tessera::schedule {

struct ElementSum {
  std::vector<Loop> loops;  // around the reduction
  Reduction reduction;
  std::vector<tir::Stmt> epilogue;  // for each element; reads the reduction's target
  bool keeps_target = true;         // false: the epilogue alone reads it

  // All that is stored of an element whose sum is that of `sums`.
  tir::Stmt results(const tir::Buffer& sums, const std::vector<tir::Expr>& at) const;
};

// Nothing where the body has other loops, or the reduction one of unknown size.
std::optional<ElementSum> as_element_sum(const Nest& nest);

}  // namespace tessera::schedule
