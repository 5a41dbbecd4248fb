// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of integers of eight bits, whose sums are exact, and what makes such
// integers of the sums again: sum((x - zero) * w) + bias, times a scale, rounded, shifted and cut
// off. The library goes on with sums in float32, which is as exact as int32 up to 2^24: kernels
// whose sums could be larger are refused.
#pragma once

#include "backends/onednn/kernel.h"

namespace tessera::backends::onednn {

struct Range {
  std::int64_t least, most;
};

// Integers of eight bits, and the zero point that is subtracted from them.
struct IntegerSource {
  NodeId bytes;
  NodeId zero;  // invalid: none
  Range zeros;  // what it may be
};
// Of cast(x) or cast(x) - zero.
Expected<IntegerSource, Refusal> integer_source(const Subject& subject, NodeId wide);

// Where a weight's numbers lie: those of one output channel are the terms of its sums.
struct WeightOrder {
  std::int64_t channels, terms, channel_stride, term_stride;
};

// Completes a kernel that has its source and, as operand `weights`, its weight: with the zero
// point, and with what follows the sums. `axis`: of the core's result, the output channels.
std::optional<Refusal> add_integers(const Subject& subject, const IntegerSource& source,
                                    int weights, const WeightOrder& order, std::size_t axis,
                                    Kernel& kernel);

}  // namespace tessera::backends::onednn
