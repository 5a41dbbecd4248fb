// SPDX-License-Identifier: Apache-2.0
// Loop nests taken apart and put together, and what they touch.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "tir/index_form.h"
#include "tir/prim_func.h"

namespace tessera::schedule {

// A loop from 0.
struct Loop {
  tir::Expr var, extent;
  tir::ForKind kind = tir::ForKind::kSerial;

  std::int64_t size() const {  // -1: not a number
    const std::int64_t* n = tir::as_int(extent);
    return n != nullptr ? *n : -1;
  }
};

// Perfectly nested loops, outermost first, and what they run.
struct Nest {
  std::vector<Loop> loops;
  tir::Stmt body;
};
Nest peel(const tir::Stmt& s);
// At most `limit` loops; the rest stays in the body.
Nest peel(const tir::Stmt& s, std::size_t limit);
tir::Stmt build(const Nest& nest);
tir::Stmt wrap(const std::vector<Loop>& loops, tir::Stmt body);
tir::Bounds bounds_of(const std::vector<Loop>& loops);

// The list with element `at` behind the others: loops, sizes or indices of a dimension that becomes
// the last.
template <class T>
std::vector<T> with_last(std::vector<T> list, std::size_t at) {
  const auto from = list.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(from, from + 1, list.end());
  return list;
}

// The parts of a sequence; of anything else, itself.
std::vector<tir::Stmt> parts(const tir::Stmt& s);
bool has_loop(const tir::Stmt& s);

// The canonical form of lower/primitive.h taken apart.
struct Kernel {
  std::vector<tir::Stmt> tables;  // AllocateConst nodes, whose bodies are ignored
  std::vector<tir::Buffer> temporaries;
  std::vector<tir::Stmt> nests;
};
Kernel take_apart(const tir::Stmt& body);
tir::Stmt put_together(const Kernel& kernel);

// One load or store; `offset` counts elements from the buffer's start.
struct Access {
  tir::Buffer buffer;
  std::vector<tir::Expr> indices;
  tir::IndexForm offset;
  bool is_store = false;
};
// All of a statement, loads of indices and lets included. `bounds`: of the loops around it.
std::vector<Access> accesses(const tir::Stmt& s, const tir::Bounds& bounds = {});
std::vector<Access> loads(const tir::Expr& e, const tir::Bounds& bounds);
tir::IndexForm offset_form(const tir::Buffer& b, const std::vector<tir::Expr>& indices,
                           const tir::Bounds& bounds);

// `target[indices] = identity; for reduction: target[indices] = op(target[indices], value)` with
// lets.
struct Reduction {
  tir::Buffer target;
  std::vector<tir::Expr> indices;
  tir::Expr identity;
  std::vector<Loop> loops;  // of the reduction
  tir::Stmt update;         // inside of them: lets and the store
  tir::Expr step;           // the stored value: a binary node, or a select
  tir::Expr value;          // what is reduced in: the step's second operand
};
std::optional<Reduction> as_reduction(const tir::Stmt& body);

// Work of a statement in nanoseconds on one core; rough, for the decision to use threads.
double estimated_ns(const tir::Stmt& s);

}  // namespace tessera::schedule
