// SPDX-License-Identifier: Apache-2.0
#include "constants/integer_sums.h"

#include <algorithm>
#include <span>
#include <vector>

#include "support/check.h"

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
  TESSERA_CHECK(weights.dtype == kInt32, "a weight of {}", to_string(weights.dtype));
  const std::span<const std::int32_t> numbers = weights.as<std::int32_t>();
  const IntegerRange range = range_of_bytes(kInt8);
  std::vector<Weights> sums(static_cast<std::size_t>(order.channels));
  bool is_narrow = true;
  const auto add = [&](std::int64_t channel, std::int64_t term) {
    const std::int64_t at = order.first + channel * order.channel_stride + term * order.term_stride;
    const std::int64_t w = numbers[static_cast<std::size_t>(at)];
    is_narrow = is_narrow && w >= range.least && w <= range.most;
    Weights& sum = sums[static_cast<std::size_t>(channel)];
    sum.positive += std::max<std::int64_t>(w, 0);
    sum.negative += std::max<std::int64_t>(-w, 0);
  };
  // As they lie in memory.
  if (order.term_stride > order.channel_stride) {
    for (std::int64_t term = 0; term < order.terms; ++term) {
      for (std::int64_t channel = 0; channel < order.channels; ++channel) add(channel, term);
    }
  } else {
    for (std::int64_t channel = 0; channel < order.channels; ++channel) {
      for (std::int64_t term = 0; term < order.terms; ++term) add(channel, term);
    }
  }
  if (!is_narrow) return std::nullopt;
  std::int64_t largest = 0;
  for (const Weights& sum : sums) {
    // In between the sums are, too.
    for (const std::int64_t zero : {zeros.least, zeros.most}) {
      largest = std::max(largest, sum.largest(x, zero));
    }
  }
  return largest;
}

}  // namespace tessera
