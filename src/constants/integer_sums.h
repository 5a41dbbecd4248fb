// SPDX-License-Identifier: Apache-2.0
// How large sums of products of integers of eight bits can be, as their weights have it.
#pragma once

#include <optional>

#include "constants/tensor.h"

namespace tessera {

struct IntegerRange {
  std::int64_t least, most;
};
// The range of integers of eight bits.
IntegerRange range_of_bytes(DType dtype);

// Where a weight's numbers lie: those of one output channel are the terms of its sums.
struct WeightOrder {
  std::int64_t channels, terms, channel_stride, term_stride;
  std::int64_t first = 0;  // the first channel's first term
};
// A whole weight, [channels, terms], or [terms, channels] where the terms are no rows.
inline WeightOrder weight_order(std::int64_t channels, std::int64_t terms, bool has_rows_of_terms) {
  return has_rows_of_terms ? WeightOrder{channels, terms, terms, 1}
                           : WeightOrder{channels, terms, 1, channels};
}

// The largest magnitude of sum((x - zero) * w) over any of a channel's terms, x in `x` and one zero
// in `zeros`; nothing: a weight, which is of int32, is no int8.
std::optional<std::int64_t> largest_sum(const Tensor& weights, const WeightOrder& order,
                                        IntegerRange x, IntegerRange zeros);

// float32 has all integers up to this magnitude.
inline constexpr std::int64_t kMostExactInFloat32 = std::int64_t{1} << 24;

}  // namespace tessera
