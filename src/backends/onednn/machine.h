// SPDX-License-Identifier: Apache-2.0
// What of the machine that a library is for decides layouts and types.
#pragma once

#include <optional>
#include <vector>

#include "byoc/backend.h"
#include "types/target.h"

namespace tessera::backends::onednn {

struct Machine {
  int threads;  // 0: one a core of this one
  bool is_this;
  // Floats that oneDNN has instructions for, there and on this machine, which asks it.
  std::vector<DType> types_of_16_bits;
};

// Of a target `cpu`; null, or another one: of this machine.
Machine machine_of(const Target* given);

// Why a kernel of that type is not for the machine: without instructions for it the library
// computes it all the same, element by element or in float32.
std::optional<byoc::Refusal> type_refusal(DType dtype, const Machine& machine);

}  // namespace tessera::backends::onednn
