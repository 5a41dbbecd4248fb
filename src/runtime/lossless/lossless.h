// SPDX-License-Identifier: Apache-2.0
// What the linker of a model sees of this archive.
#pragma once

#include <cstdint>

#include "runtime/program.h"

// tessera_program::unpack.
extern "C" std::int32_t tessera_unpack_weights(const tessera_program* program,
                                               const tessera_unpack_target* target,
                                               std::int32_t threads);
