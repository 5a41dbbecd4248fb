// SPDX-License-Identifier: Apache-2.0
// Random loop functions for fuzz tests: well-typed, every name defined, sizes small.
#pragma once

#include <random>
#include <vector>

#include "tir/prim_func.h"

namespace tessera::tir {

class RandomFunctions {
 public:
  explicit RandomFunctions(std::uint32_t seed) : random_(seed) {}

  PrimFunc function();
  // An expression over `vars` and the buffers in scope.
  Expr expr(DType dtype, int depth);
  std::vector<Expr> vars;
  std::vector<Buffer> buffers;

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

 private:
  Expr leaf(DType dtype);
  Expr condition(int depth);
  DType dtype();
  Buffer buffer(const char* name);
  std::vector<Expr> indices(const Buffer& b, int depth);
  Stmt stmt(int depth);
  Stmt loop(int depth);
  Stmt definition(int depth);

  std::mt19937 random_;
};

}  // namespace tessera::tir
