// SPDX-License-Identifier: Apache-2.0
// The text of the loop IR, a subset of TVMScript (docs/loop-ir.md); tir/parse.h reads it back:
//
//   @T.prim_func
//   def scale(n: T.int64, x: T.Buffer((n, 8), "float32"), *, y: T.Buffer((n, 8), "float32")):
//     for i in T.parallel(n):
//       for j in T.vectorized(8):
//         y[i, j] = x[i, j] * 2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tir/prim_func.h"
#include "tir/tensor_expr.h"

namespace tessera::tir {

inline constexpr std::int64_t kMaxPrintedConstant = 64;  // elements

struct PrintOptions {
  // Stores an immediate constant of more than kMaxPrintedConstant elements, or with a NaN, whose
  // digits are not its bits, somewhere and returns the reference to print,
  // `meta[relay.Constant][3]`. Without it such constants are written out, whole.
  std::function<std::string(const Tensor&)> large_constant;
};

// With a final newline. `name` becomes the name after `def`.
std::string print(const PrimFunc& f, std::string_view name, const PrintOptions& options = {});
// Parts, for messages and tests; variables appear under their own names.
std::string print(const Stmt& s);
std::string print(const Expr& e);
// A definition and those it reads, one a line: `y(i0, i1) = x(i1, i0)`.
std::string print(const TensorExpr& t);

}  // namespace tessera::tir
