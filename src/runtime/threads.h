// SPDX-License-Identifier: Apache-2.0
// How many threads an instance has that was not told.
#pragma once

#include <cstdint>

namespace tessera::runtime {

// OMP_NUM_THREADS, or what the program told its OpenMP; else the CPUs that the process may use
// (runtime/cpus.h).
std::int32_t default_threads();

}  // namespace tessera::runtime
