// SPDX-License-Identifier: Apache-2.0
// Kept weights of an instance: the model's constants until somebody sets them.
#include <cstring>

#include "runtime/arguments.h"
#include "runtime/device_run.h"
#include "runtime/device_scope.h"

namespace tessera::runtime {
namespace {

const tessera_program_io& weight_io(const tessera_instance& instance, std::int32_t index) {
  const tessera_program& program = *instance.model->program;
  return program.inputs[program.input_count + index];
}

std::int32_t set_weight(tessera_instance& instance, std::int32_t index,
                        const tessera_tensor& value) {
  constexpr const char* kWhat = "kept weight";
  const tessera_program_io& io = weight_io(instance, index);
  if (std::int32_t status = check_shape(kWhat, io, value)) return status;
  void* from = nullptr;
  if (std::int32_t status = bind_input(kWhat, io, value, 1, &from)) return status;
  const std::uint64_t bytes = compact_bytes(io.dtype, io.ndim, io.shape);
  if (bytes == 0) return TESSERA_OK;
  const bool on_device = instance.work.api != nullptr;
  if (std::int32_t status = on_device ? check_place(instance, kWhat, io.name, value)
                                      : check_host(kWhat, io.name, value)) {
    return status;
  }
  Block& block = instance.weights[index];
  instance.ranges_are_apart = false;
  if (block.data == nullptr) {
    if (std::int32_t status = allocate_block(instance, bytes, 256, io.name, &block)) return status;
  }
  if (!on_device) {
    std::memcpy(block.data, from, bytes);
  } else if (std::int32_t status = copy_to_device(instance, block.data, from, bytes)) {
    return status;
  }
  instance.inputs[instance.model->program->input_count + index] = block.data;
  return TESSERA_OK;
}

// The memory stays until a run that may use it is over.
std::int32_t reset_weight(tessera_instance& instance, std::int32_t index) {
  if (instance.work.api != nullptr) {
    if (std::int32_t status = wait_for_device(instance)) return status;
  }
  release_block(instance, &instance.weights[index]);
  use_default_weight(instance, index);
  return TESSERA_OK;
}

}  // namespace

void use_default_weight(tessera_instance& instance, std::int32_t index) {
  const tessera_program& program = *instance.model->program;
  const auto constant = static_cast<std::size_t>(program.kept_weights[index]);
  const bool on_device = instance.work.api != nullptr;
  const void* data =
      on_device ? instance.work.library->constants[constant] : instance.model->constants[constant];
  // Programs only read their inputs; the frame's type is that of outputs, too.
  instance.inputs[program.input_count + index] = const_cast<void*>(data);
}

}  // namespace tessera::runtime

int32_t tessera_instance_set_weight(tessera_instance* instance, const char* name,
                                    const tessera_tensor* value) {
  using namespace tessera::runtime;
  return alone(instance, [&] {
    const tessera_program& program = *instance->model->program;
    std::int32_t index = 0;
    if (std::int32_t status = find_io(program.inputs + program.input_count,
                                      program.kept_weight_count, "kept weight", name, &index)) {
      return status;
    }
    const DeviceScope scope(instance->work.api, instance->device);
    return value != nullptr ? set_weight(*instance, index, *value) : reset_weight(*instance, index);
  });
}
