// SPDX-License-Identifier: Apache-2.0
// How sensitive a value is to rounding before it: beside what it is exactly, what it may be where
// every step is a little off.
#pragma once

#include <array>

#include "constants/tensor.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {

constexpr int kShakes = 3;
struct Shaken {
  Tensor exact;
  std::array<Tensor, kShakes> off;
};
// What nothing has rounded yet.
Shaken unshaken(const Tensor& exact);

// As far off as another order of sums and contracted products may be.
Tensor shake(const Tensor& t, Random& random);

bool is_within(const Tensor& t, double low, double high);
// No NaN and no infinity, and of a magnitude that 16 bits hold after several steps more.
bool is_small(const Tensor& t);

}  // namespace tessera::fuzz
