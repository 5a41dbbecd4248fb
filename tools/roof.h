// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, measured.
#pragma once

#include <cstdint>

namespace tessera::tools {

struct Roof {
  double flops_per_second = 0;  // of float32, a fused multiply-add being two
  double bytes_per_second = 0;
  double narrow_flops_per_second = 0;  // of products with the digits of 16 bits; 0: as float32
};

// The roof of so many threads: multiply-adds in registers, and reading `bytes` repeatedly. What
// fits into a cache is read from there, as a model of this size would.
Roof measure_roof(int threads, std::int64_t bytes);

}  // namespace tessera::tools
