// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of integers of eight bits, whose sums are exact, and what makes such
// integers of the sums again: sum((x - zero) * w) + bias, times a scale, rounded, shifted and cut
// off. The library goes on with sums in float32, which is as exact as int32 up to 2^24: kernels
// whose sums could be larger are refused.
#pragma once

#include "backends/onednn/kernel.h"
#include "constants/integer_sums.h"

namespace tessera::backends::onednn {

// Integers of eight bits, and the zero point that is subtracted from them.
struct IntegerSource {
  NodeId bytes;
  NodeId zero;         // invalid: none
  IntegerRange zeros;  // what it may be
};
// The source of cast(x) or cast(x) - zero.
Expected<IntegerSource, Refusal> integer_source(const Subject& subject, NodeId wide);

// Completes a kernel that has its source and, as operand `weights`, its weight: with the zero
// point, and with what follows the sums. `axis`: of the core's result, the output channels.
std::optional<Refusal> add_integers(const Subject& subject, const IntegerSource& source,
                                    int weights, const WeightOrder& order, std::size_t axis,
                                    Kernel& kernel);
// Completes a kernel of float32 with what makes integers of eight bits of its numbers.
std::optional<Refusal> add_requantisation(const Subject& subject, std::size_t axis, Kernel& kernel);

}  // namespace tessera::backends::onednn
