// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs that lie in the instance's own pools.
#pragma once

#include "runtime/instance.h"

namespace tessera::runtime {

// The place of input or output `i`; of 0 bytes where it has none.
tessera_program_place place_of_input(const tessera_program& program, std::int32_t i);
tessera_program_place place_of_output(const tessera_program& program, std::int32_t i);
// Its first byte; null where there is no place.
void* address_of(const tessera_instance& instance, const tessera_program_place& place);

// Is the tensor where the place is? Without data it is.
bool is_at(const tessera_tensor& tensor, const void* place);

// Makes outputs that have places there the instance's own. Its pools must exist.
void set_up_places(tessera_instance& instance);

}  // namespace tessera::runtime
