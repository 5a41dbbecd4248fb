// SPDX-License-Identifier: Apache-2.0
#include "runtime/places.h"

namespace tessera::runtime {

tessera_program_place place_of_input(const tessera_program& program, std::int32_t i) {
  return program.places == nullptr ? tessera_program_place{} : program.places[i];
}

tessera_program_place place_of_output(const tessera_program& program, std::int32_t i) {
  return program.places == nullptr ? tessera_program_place{}
                                   : program.places[program.input_count + i];
}

void* address_of(const tessera_instance& instance, const tessera_program_place& place) {
  if (place.bytes == 0) return nullptr;
  return static_cast<char*>(instance.pool_pointers[place.pool]) + place.offset;
}

bool is_at(const tessera_tensor& tensor, const void* place) {
  if (place == nullptr) return false;
  return tensor.data == nullptr || static_cast<char*>(tensor.data) + tensor.byte_offset == place;
}

void set_up_places(tessera_instance& instance) {
  const tessera_program& program = *instance.model->program;
  for (std::int32_t i = 0; i < program.output_count; ++i) {
    const tessera_program_place place = place_of_output(program, i);
    void* const data = address_of(instance, place);
    if (data != nullptr) instance.own_outputs[i] = {data, place.bytes, false, instance.device};
  }
}

}  // namespace tessera::runtime
