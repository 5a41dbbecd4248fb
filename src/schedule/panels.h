// SPDX-License-Identifier: Apache-2.0
// An operand of a product in the order in which tiles read it.
#pragma once

#include <cstdint>
#include <vector>

#include "constants/tensor.h"

namespace tessera::schedule {

// Steps of a walk over a tensor's elements.
struct Axis {
  std::int64_t size = 0, stride = 0;
};

// result[outer..., block, inner..., lane] is the element of column block * width + lane, and zero
// where there is none. With neighbours there is one more index, the last: of so many steps of the
// last inner axis, which lie side by side for each lane. Those that fill no such group are followed
// by zeros.
struct Panels {
  std::int64_t first = 0;  // the element where all begins
  std::vector<Axis> outer, inner;
  Axis column;
  std::int64_t width = 1;
  std::int64_t neighbours = 1;  // else there is an inner axis
};
Tensor packed(const Tensor& source, const Panels& panels);

// Calls f with the place of each element that the axes lead to, the last one quickest.
template <class F>
void for_each_place(const std::vector<Axis>& axes, std::int64_t place, const F& f,
                    std::size_t depth = 0) {
  if (depth == axes.size()) return f(place);
  for (std::int64_t i = 0; i < axes[depth].size; ++i) {
    for_each_place(axes, place + i * axes[depth].stride, f, depth + 1);
  }
}

}  // namespace tessera::schedule
