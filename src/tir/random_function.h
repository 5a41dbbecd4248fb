// SPDX-License-Identifier: Apache-2.0
// Random loop functions for the fuzz tests of this folder and those that depend on it:
// well-typed, every name defined, sizes small.
#pragma once

#include <random>
#include <vector>

#include "tir/prim_func.h"

namespace tessera::tir {

class RandomFunctions {
 public:
  explicit RandomFunctions(std::uint32_t seed) : random_(seed) {}

  PrimFunc function();
  // The types to use; and whether to keep to what every order of evaluation agrees on and C++ text
  // can be made of: loops one after the other, no memory but the parameters'.
  std::vector<DType> types = {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64,
                              kInt32,   kInt8,    kUInt8,   kBool};
  bool plain = false;
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
