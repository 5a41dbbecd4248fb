// SPDX-License-Identifier: Apache-2.0
// What schedules need to know of a CPU.
#pragma once

#include <cstdint>

#include "types/dtype.h"
#include "types/target.h"

namespace tessera::schedule {

class MeasuredAlgorithms;

struct Machine {
  std::int64_t vector_bytes = 32;
  int vector_registers = 16;
  std::int64_t stack_bytes = 128 << 10;  // for one array of a thread
  double parallel_ns = 25000;            // less work than this is not worth waking threads
  int winograd_tile = kClearlyFaster;    // of convolutions; 0: none is computed so
  // Products of these types that are added to a sum at once.
  int bfloat16_neighbours = 1, int16_neighbours = 1;
  bool has_matrix_unit = false;            // of bfloat16 and of bytes
  MeasuredAlgorithms* measured = nullptr;  // null: rules alone choose

  static constexpr int kClearlyFaster = -1;
  static constexpr double kNearCacheBytes = 1 << 20;  // that are near a core
  static constexpr double kFarBytesPerCycle = 8;      // of what is not

  std::int64_t lanes(DType t) const { return vector_bytes / t.size_bytes(); }
};

// Of a target that names one processor; `native` is the machine that this runs on.
Machine machine_of(const Target& target);
// What the option `winograd` asks for.
int winograd_tile_of(const Target& target);

}  // namespace tessera::schedule
