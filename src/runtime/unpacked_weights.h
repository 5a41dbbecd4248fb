// SPDX-License-Identifier: Apache-2.0
// Weights that a library has packed, as the process has them: once for all models of a program.
#pragma once

#include <cstdint>

#include "runtime/program.h"

namespace tessera::runtime {

// The memory with the program's unpacked weights; null where it has none. A status. To be released
// as often.
std::int32_t use_unpacked_weights(const tessera_program& program, const void** memory);
void release_unpacked_weights(const tessera_program& program);

}  // namespace tessera::runtime
