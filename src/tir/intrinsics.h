// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tir/expr.h"

namespace tessera::tir {

// A scalar function that a Call may name (intrinsics.def). In C++ it is `tk::name` of
// tessera/kernel_math.h, or an operator for those over integers.
struct Intrinsic {
  enum class Domain : std::uint8_t { kFloat, kTest, kInteger };
  std::string_view name;
  int arity = 1;
  Domain domain = Domain::kFloat;
  double (*of_doubles)(double x, double y) = nullptr;  // kFloat, kTest
  // kInteger: where the type of the operands is not uint64, and where it is.
  std::int64_t (*of_ints)(std::int64_t x, std::int64_t y) = nullptr;
  std::uint64_t (*of_uint64s)(std::uint64_t x, std::uint64_t y) = nullptr;

  // The value over operands of an integer type.
  std::int64_t of(std::int64_t x, std::int64_t y, DType dtype) const;
};

std::span<const Intrinsic> intrinsics();
// Null where there is none of this name.
const Intrinsic* find_intrinsic(std::string_view name);
// The value of a call whose arguments are literals, as a literal; null if it cannot be had.
Expr fold_call(const Call& call);

}  // namespace tessera::tir
