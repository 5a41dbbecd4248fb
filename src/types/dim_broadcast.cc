// SPDX-License-Identifier: Apache-2.0
#include "types/dim_broadcast.h"

#include <algorithm>

#include "types/dim_expr.h"

namespace tessera {
namespace {

bool is_never_zero(const Dim& dim) {
  const DimInterval range = DimAlgebra::interval(dim);
  return range.min && *range.min >= 1;
}

}  // namespace

// A larger size than the result's can only be 1 against 0, so `size` must be no 0 but where
// `larger` is 0 as well.
bool broadcasts_to(const Dim& size, const Dim& larger) {
  if (size.is_unknown() || larger.is_unknown()) return false;
  std::vector<Dim> smallest = DimAlgebra::arguments(DimOp::kMin, size);
  const auto itself = std::find(smallest.begin(), smallest.end(), larger);
  if (itself == smallest.end()) return is_never_zero(size) && DimAlgebra::always_le(size, larger);
  smallest.erase(itself);
  return std::all_of(smallest.begin(), smallest.end(), is_never_zero);
}

}  // namespace tessera
