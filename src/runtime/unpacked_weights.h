// SPDX-License-Identifier: Apache-2.0
// Weights that a library has packed, as the process has them: once for all models of a program.
// On a device they are sent there as they are unpacked; the host has those that it reads.
#pragma once

#include <cstdint>

#include "runtime/program.h"

namespace tessera::runtime {

// Does the host read it unpacked? On the CPU it reads all.
inline bool is_unpacked_on_host(const tessera_program& program,
                                const tessera_program_packed& weight) {
  return program.device_api == nullptr || weight.on_host != 0;
}

// The memory with the program's unpacked weights that the host reads, others being zeros; null
// where it reads none. A status. To be released as often.
std::int32_t use_unpacked_weights(const tessera_program& program, const void** memory);
void release_unpacked_weights(const tessera_program& program);

// Sets the sentence of what tessera_unpack_fn says; its status.
std::int32_t fail_unpacking(std::int32_t status);

}  // namespace tessera::runtime
