// SPDX-License-Identifier: Apache-2.0
// The transformations that schedules are made of. Each proves that the program still computes the
// same, from the places that the nest reads and writes, and refuses with a sentence where it
// cannot.
#pragma once

#include <string>
#include <vector>

#include "schedule/nest.h"
#include "support/expected.h"

namespace tessera::schedule {

struct Refused {
  std::string reason;
};
template <class T>
using Checked = Expected<T, Refused>;

// Nothing if different iterations of the loop over `var` touch no common element that one of them
// writes; memory that `body` allocates is each iteration's own.
Checked<void> check_independent(const tir::Expr& var, const tir::Stmt& body,
                                const tir::Bounds& outer);

// Loop `at` becomes an outer loop of ceil(n / factor) steps and an inner one, directly inside it.
Checked<Nest> split(const Nest& nest, std::size_t at, std::int64_t factor);
// Loop number order[i] becomes loop number i. All loops that change places must be independent.
Checked<Nest> reorder(const Nest& nest, const std::vector<std::size_t>& order,
                      const tir::Bounds& outer = {});
Checked<Nest> parallelise(const Nest& nest, std::size_t at, const tir::Bounds& outer = {});
// For a loop whose iterations are independent, or that accumulates into one element.
Checked<Nest> vectorise(const Nest& nest, std::size_t at, const tir::Bounds& outer = {});
Checked<Nest> unroll(const Nest& nest, std::size_t at);
// Loops 0 .. count-1 as one; their variables are computed from it.
Checked<Nest> fuse_outer(const Nest& nest, std::size_t count);

// Joins loops `at` and `at + 1` into one over their product where every access is linear in it, so
// that the quotient and the remainder by which the indices name it vanish from every offset.
Checked<Nest> collapse(const Nest& nest, std::size_t at, const tir::Bounds& outer = {});
// All that can be joined, innermost pairs first: the longest run ends in one loop.
Nest collapse_all(Nest nest, const tir::Bounds& outer = {});

}  // namespace tessera::schedule
