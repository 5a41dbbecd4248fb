// SPDX-License-Identifier: Apache-2.0
// How long the loops of scheduled kernels take on one core of a CPU, by a rough estimate, and which
// of them compute one element after the other where vectors could compute many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tir/prim_func.h"

namespace tessera::driver {

// Why the instructions of a loop are for one element each.
enum class WithoutVectors : std::uint8_t {
  kPlain,     // the schedule found no loop whose iterations are independent
  kChecked,   // a check of data may end the loop
  kShort,     // too few iterations to fill a vector
  kFunction,  // a function of the C library, or a power of integers
  kDivision,  // of integers: no processor has it for vectors
  kHalves,    // conversions of float16 without instructions for them
};

struct LoopTime {
  double ns = 0;
  double scalar_ns = 0;  // of loops without vectors
  WithoutVectors why{};  // of the one among them that takes longest, with what it is about
  std::string what;
};

// Of one call, with these values of the formal dimensions.
LoopTime loop_time(const tir::PrimFunc& kernel, std::span<const std::int64_t> dims,
                   bool converts_halves);

}  // namespace tessera::driver
