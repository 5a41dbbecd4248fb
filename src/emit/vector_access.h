// SPDX-License-Identifier: Apache-2.0
// Which loads and stores of a vectorised loop are neighbours in memory, aligned, and made by all
// iterations or none, so that one access can do for all of them.
#pragma once

#include <vector>

#include "tir/index_form.h"
#include "tir/stmt.h"

namespace tessera::emit {

// `vector`, a stack buffer of the loop's extent, stands for the memory that the loop reads: from
// the element on that the first iteration does. That is a load, or a choice among loads which all
// iterations make alike. Where there is a condition that does not hold, nothing is read and the
// vector is zero.
struct VectorLoad {
  tir::Buffer vector;
  tir::Expr first;
  tir::Expr condition = {};
};
// The same of memory that the loop writes, from `indices` on.
struct VectorStore {
  tir::Buffer memory, vector;
  std::vector<tir::Expr> indices;
};
struct VectorAccess {
  std::vector<VectorLoad> loads;
  std::vector<VectorStore> stores;
  tir::Stmt body;  // of the loop, with the vectors in place of memory
};
VectorAccess vector_access(const tir::For& loop, const tir::Bounds& bounds);

}  // namespace tessera::emit
