// SPDX-License-Identifier: Apache-2.0
// The rules that make plain nests fast. Each takes a nest in the form of lower/primitive.h, or what
// another rule left, and gives one that computes the same.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "schedule/machine.h"
#include "schedule/made_constant.h"
#include "schedule/primitives.h"

namespace tessera::schedule {

// Independent elements: neighbouring loops become one where memory is contiguous; transposing nests
// are cut into tiles that stay in the first cache; the innermost loop is vectorised.
tir::Stmt schedule_map(Nest nest, const tir::Bounds& outer, const Machine& machine);

// Reductions into local accumulators: one that runs along memory (rows), or a block of them side by
// side (columns, pooling, depthwise convolution), whichever the reads prefer.
tir::Stmt schedule_reduction(Nest nest, const tir::Bounds& outer, const Machine& machine);

// Does a reduction nest prefer such a block along its innermost loop?
bool prefers_columns(const Nest& nest);

// Whatever is inside of loops over rows: each statement by the rule for it.
tir::Stmt schedule_inner(const tir::Stmt& s, tir::Bounds outer, const Machine& machine);

// Sums of products of two operands (matrix products, convolutions), with the element-wise nests
// after them: register tiles, packed operands. `nests` begins with the product; tells how many of
// them the result replaces.
struct Contraction {
  std::vector<tir::Stmt> nests;
  std::vector<tir::Buffer> temporaries;  // packed operands
  std::vector<MadeConstant> made;        // packed operands that are constants
  std::size_t replaced = 1;
  std::string summary;  // "tile 12x32, packed": for reports
};
// What is known of the kernel around the nests: memory that it allocates, and inputs that every
// call gives a constant.
struct Surroundings {
  const std::vector<tir::Buffer>& temporaries;
  const std::vector<tir::Buffer>& constants;

  bool is_constant(const tir::Buffer& b) const {
    return std::find(constants.begin(), constants.end(), b) != constants.end();
  }
};
std::optional<Contraction> schedule_contraction(std::span<const tir::Stmt> nests,
                                                const Surroundings& around, const Machine& machine);

// Convolutions of 3 by 3 without stride by Winograd's algorithm: products of transformed tiles with
// transformed weights, which are constants.
std::optional<Contraction> schedule_winograd(std::span<const tir::Stmt> nests,
                                             const Surroundings& around, const Machine& machine);

// Sums of products with elements that are taken out of words of several (weights of a few bits),
// the columns of a matrix side by side: decoded in registers, once for some rows. Takes the place
// of `nest` alone.
std::optional<Contraction> schedule_packed_product(const tir::Stmt& nest, const Machine& machine);

// In vectorised loops: elements that are read under a condition, but are there whatever it says,
// are read before it, so that the C++ compiler sees no branch that it could not turn into a
// blend.
tir::Stmt read_ahead(const tir::Stmt& s);

// Gives the outermost loops to threads if the work is worth it.
tir::Stmt use_threads(const tir::Stmt& nest, const Machine& machine);

}  // namespace tessera::schedule
