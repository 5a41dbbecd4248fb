// SPDX-License-Identifier: Apache-2.0
#include "ops/records/reshape_codes.h"

namespace tessera::ops {

std::optional<std::vector<std::int64_t>> reshape_codes(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> codes;
  Dim others = 1;
  std::optional<std::size_t> rest;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim(0)) return std::nullopt;
    if (to[i].is_constant()) {
      codes.push_back(to[i].constant());
    } else if (i < from.size() && provably_equal(from[i], to[i]) == Tri::kYes) {
      codes.push_back(0);
    } else if (!rest) {
      rest = i;
      codes.push_back(-1);
      continue;
    } else {
      return std::nullopt;
    }
    others = others * to[i];
  }
  // One that is not known can be nothing but what remains.
  if (!rest || to[*rest].is_unknown()) return codes;
  const Dim remains = floor_div(num_elements(from), others);
  return provably_equal(remains, to[*rest]) == Tri::kYes ? std::optional(codes) : std::nullopt;
}

}  // namespace tessera::ops
