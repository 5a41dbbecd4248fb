// SPDX-License-Identifier: Apache-2.0
// One of many parts that follow each other along an axis.
#pragma once

#include <cstddef>

#include "ops/records/definition.h"
#include "tir/compare.h"
#include "tir/expr_ops.h"

namespace tessera::ops {

// Up to here parts are tried one after the other.
inline constexpr std::size_t kLongestChain = 16;

// The part in [low, high) that holds the place: `is_before(k)` says whether that lies before
// part k, `part(k)` gives its value. Many parts are halved, so that expressions are not as deep as
// there are parts.
template <class IsBefore, class Part>
Expr chosen_part(std::size_t low, std::size_t high, const IsBefore& is_before, const Part& part) {
  if (high - low > kLongestChain) {
    const std::size_t middle = low + (high - low) / 2;
    const Expr front = chosen_part(low, middle, is_before, part);
    return tir::select(is_before(middle), front, chosen_part(middle, high, is_before, part));
  }
  Expr value;
  for (std::size_t k = high; k-- > low;) {
    const Expr here = part(k);
    value = value ? tir::select(is_before(k + 1), here, value) : here;
  }
  return value;
}

}  // namespace tessera::ops
