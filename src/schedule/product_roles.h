// SPDX-License-Identifier: Apache-2.0
// Which loops and which operand of a product are whose (contraction.h), by what each way costs.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "schedule/contraction.h"
#include "schedule/machine.h"
#include "schedule/nest.h"
#include "schedule/rules.h"
#include "tir/walk.h"

namespace tessera::schedule {

// How many iterations; of a loop of open size, what is likely.
double likely_count(const std::vector<Loop>& loops);

// One way to give the roles of m and n, and what it costs in cycles.
struct RoleChoice {
  bool swapped = false;  // the second operand is `a`
  std::size_t m = 0, n = 0;
  bool packed = false, constant = false;
  double cycles = INFINITY;
};

// Infinitely many cycles: there is no way. A spatial loop of one iteration that nothing moves with
// serves as m of a vector times a matrix.
RoleChoice best_roles(const std::vector<Loop>& spatial, const Reduction& r, const tir::Mul& product,
                      const tir::Bounds& bounds, const Surroundings& around,
                      const Machine& machine);

}  // namespace tessera::schedule
