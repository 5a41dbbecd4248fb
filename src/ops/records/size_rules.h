// SPDX-License-Identifier: Apache-2.0
// What sizes must satisfy beside being equal, for `infer` functions: refused where numbers tell,
// else noted for the run like `agreed` (ops/infer.h).
#pragma once

#include "ops/inference/infer.h"

namespace tessera::ops {

// The size is a multiple of the divisor.
inline Result<void> none_left(const relay::InferArgs& args, const Dim& size, const Dim& divisor,
                              std::string_view what) {
  TESSERA_TRY_VOID(agreed(args, floor_mod(size, divisor), Dim(0), what));
  return {};
}

// The size is the least one or more.
inline Result<void> at_least(const relay::InferArgs& args, const Dim& size, const Dim& least,
                             std::string_view what) {
  TESSERA_TRY_VOID(agreed(args, max(size, least), size, what));
  return {};
}

// Indices, the second operand, are no larger than the data beside the axis that they choose on.
inline Result<void> indices_covered(const relay::InferArgs& args, std::int64_t axis) {
  TESSERA_TRY_VOID(expect_covered(args, axis, 1, "indices"));
  const Shape &data = args.operands[0].shape(), &indices = args.operands[1].shape();
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (static_cast<std::int64_t>(i) == axis) continue;
    TESSERA_TRY_VOID(at_least(args, data[i], indices[i], "sizes of data and indices"));
  }
  return {};
}

// There is an element to choose from wherever one is chosen.
inline Result<void> has_choice(const relay::InferArgs& args, const Dim& size, const Shape& chosen) {
  if (size.is_constant() && size.constant() > 0) return {};
  return at_least(args, size, min(Dim(1), num_elements(chosen)),
                  "elements to choose from and what is needed");
}

}  // namespace tessera::ops
