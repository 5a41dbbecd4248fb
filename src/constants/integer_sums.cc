// SPDX-License-Identifier: Apache-2.0
#include "constants/integer_sums.h"

#include <algorithm>
#include <cstdlib>

namespace tessera {
namespace {

// An output channel's weights above and below zero.
struct Weights {
  std::int64_t positive = 0, negative = 0;  // sums of magnitudes

  // The largest magnitude of a sum over x - zero, x in `x`.
  std::int64_t largest(IntegerRange x, std::int64_t zero) const {
    const std::int64_t above = std::max<std::int64_t>(x.most - zero, 0),
                       below = std::max<std::int64_t>(zero - x.least, 0);
    return std::max(positive * above + negative * below, positive * below + negative * above);
  }
};

}  // namespace

IntegerRange range_of_bytes(DType dtype) {
  return dtype == kInt8 ? IntegerRange{-128, 127} : IntegerRange{0, 255};
}

std::optional<std::int64_t> largest_sum(const Tensor& weights, const WeightOrder& order,
                                        IntegerRange x, IntegerRange zeros) {
  const IntegerRange range = range_of_bytes(kInt8);
  std::int64_t largest = 0;
  for (std::int64_t channel = 0; channel < order.channels; ++channel) {
    Weights sums;
    for (std::int64_t term = 0; term < order.terms; ++term) {
      const std::int64_t w = element_as_int(
          weights, order.first + channel * order.channel_stride + term * order.term_stride);
      if (w < range.least || w > range.most) return std::nullopt;
      (w > 0 ? sums.positive : sums.negative) += std::abs(w);
    }
    // In between the sums are, too.
    for (const std::int64_t zero : {zeros.least, zeros.most}) {
      largest = std::max(largest, sums.largest(x, zero));
    }
  }
  return largest;
}

}  // namespace tessera
