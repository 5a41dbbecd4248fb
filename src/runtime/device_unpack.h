// SPDX-License-Identifier: Apache-2.0
// Packed weights on their way to a device: unpacked into memory that the device copies from.
#pragma once

#include <cstdint>

#include "runtime/program.h"

namespace tessera::runtime {

// Puts the program's packed weights into the device's memory of its constants; the device is the
// calling thread's. A status.
std::int32_t upload_packed(const tessera_program& program, tessera_device device, void* memory);

}  // namespace tessera::runtime
