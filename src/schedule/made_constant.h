// SPDX-License-Identifier: Apache-2.0
// Constants that a schedule asks for: computed of another one when compiling, and read in its
// place.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "constants/tensor.h"
#include "tir/buffer.h"
#include "tir/prim_func.h"

namespace tessera::schedule {

struct MadeConstant {
  tir::Buffer source;  // an input of the kernel that every call gives a constant
  tir::Buffer made;    // an input from now on
  // Nothing where this source has no such constant: then the kernel is scheduled without.
  std::function<std::optional<Tensor>(const Tensor& source)> make;
};

// A kernel whose calls give constants. What is made of these are inputs after the others; those
// that nothing reads any more are none.
struct ScheduledKernel {
  tir::PrimFunc kernel;
  std::vector<MadeConstant> made;
};

}  // namespace tessera::schedule
