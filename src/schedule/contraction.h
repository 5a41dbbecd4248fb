// SPDX-License-Identifier: Apache-2.0
// A sum of products recognised: which loops are whose.
#pragma once

#include <optional>
#include <span>

#include "schedule/machine.h"
#include "schedule/nest.h"
#include "schedule/rules.h"
#include "tir/walk.h"

namespace tessera::schedule {

// T[batch, m, n] = sum over k of a(batch, m, k) * b(batch, n, k), up to the order of loops and
// operands. In a GEMM m are rows of one matrix and n columns of the other. In a convolution they
// are positions and channels or the other way round, whichever makes better vectors along n.
struct Product {
  std::vector<Loop> shared_batch;  // loops that b moves with, besides n
  std::vector<Loop> other_batch;   // the other spatial loops, besides m
  Loop m, n;
  std::vector<Loop> reduction;
  std::int64_t neighbours = 1;  // steps of the last loop that the CPU multiplies and adds at once
  bool by_unit = false;         // the matrix unit does, which takes numbers that fill none, too
  tir::Expr a, b;               // `a` does not move with n, `b` not with m
  bool packed =
      false;  // b is to be copied so that it is contiguous along n and its rows are neighbours
  bool is_constant = false;  // b is: then it is copied when compiling
  tir::Buffer target;
  std::vector<tir::Expr> indices;
  tir::Expr identity;
  std::vector<tir::Stmt>
      epilogue;                // for each element, in the product's loop variables; reads `target`
  bool target_is_kept = true;  // false: the epilogue alone reads it
  std::size_t replaced = 1;    // how many nests this stands for
};

// The read of an operand that is one: of elements as they are, or made wider. Null: it is more.
const tir::Load* load_of(const tir::Expr& operand);
// The dimension whose index is the variable, which no other index knows.
std::optional<std::size_t> dimension_along(const tir::Load& load, const tir::Expr& var);
// How many products of neighbours of the type the CPU adds to a sum at once, of so many terms.
std::int64_t neighbours_at_once(DType dtype, std::int64_t terms, const Machine& machine);
// Does the operand change when the loop moves?
bool moves_with(const tir::Expr& operand, const Loop& l);
// Of floats, or of integers that were made so wide.
bool is_sum_of_products(const Reduction& r);

// `nests[0]` must be the reduction. An epilogue takes the product's place only where nothing else
// needs it.
std::optional<Product> recognise_product(std::span<const tir::Stmt> nests,
                                         const Surroundings& around, const Machine& machine);

// The element-wise nests after the reduction that can run on its results; sets what the product
// replaces.
std::vector<tir::Stmt> take_epilogue(Product& p, const Nest& nest, const Reduction& r,
                                     std::span<const tir::Stmt> nests,
                                     const std::vector<tir::Buffer>& temporaries);

// What is done with a result: it is stored where it is kept, and the epilogue runs with it in place
// of the target. `at`: what the product's loop variables are.
tir::Stmt finished(const Product& p, const tir::Expr& result, const tir::VarMap& at);

// `next` as a body in the loops of `nest`, whose reduction is `r`, if it has the same loops, is
// element-wise and reads the target only where the nest has just computed it.
std::optional<tir::Stmt> as_epilogue(const Nest& nest, const Reduction& r, const tir::Stmt& next);

}  // namespace tessera::schedule
