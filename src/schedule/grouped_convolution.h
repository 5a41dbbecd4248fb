// SPDX-License-Identifier: Apache-2.0
// Convolutions in groups that tensor cores can compute: which loops are whose.
#pragma once

#include <optional>

#include "schedule/element_sum.h"
#include "tir/window_product.h"

namespace tessera::schedule {

inline constexpr std::int64_t kGroupedLanes = 8;  // results that a thread stores at once

// A dimension of the results: a loop, or none where there is one of them.
struct GroupedDimension {
  std::optional<Loop> loop;
  tir::WindowSteps steps;
  std::int64_t before = 0;  // places of the image's border that the first window sees

  std::int64_t size() const { return loop ? loop->size() : 1; }
};

// target[image, row, column, result] = sum over a window and the channels of a group, of floats of
// 16 bits in float32, with what is made of each element.
struct GroupedConvolution {
  ElementSum sum;
  GroupedDimension image, row, column;
  Loop result;                      // the last of the sum's loops
  tir::WindowProduct product = {};  // its image and weight
};

// Nothing where the channels are not last and in vectors, or a size is not known.
std::optional<GroupedConvolution> recognise_grouped(const Nest& nest);

}  // namespace tessera::schedule
