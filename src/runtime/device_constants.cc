// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/device.h"
#include "runtime/device_run.h"
#include "runtime/device_scope.h"
#include "runtime/device_unpack.h"
#include "runtime/device_upload.h"
#include "runtime/model.h"

namespace tessera::runtime {

std::int32_t upload_constants(const tessera_model& model, DeviceStates& states) {
  const tessera_program& program = *model.program;
  const auto count = static_cast<std::size_t>(program.constant_count);
  if (!states.constants.allocate(count)) return fail_out_of_memory("the table of constants");
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const tessera_program_constant& c = program.constants[i];
    if (c.bytes > 0) bytes = std::max(bytes, c.offset + c.bytes);
  }
  for (std::int32_t i = 0; i < program.packed_count; ++i) {
    bytes = std::max(bytes, program.packed[i].offset + program.packed[i].bytes);
  }
  if (bytes == 0) return TESSERA_OK;
  const tessera_device_api& api = *program.device_api;
  const DeviceScope scope(&api, states.device);
  tessera_device_error error = {};
  if (std::int32_t status = api.allocate(bytes, &states.constants_memory, &error)) {
    return fail(status, "memory for the model's constants: %s", error.text);
  }
  states.constants_bytes = bytes;
  const std::uint64_t first_packed = program.packed_count > 0 ? program.mapped_bytes : bytes;
  DeviceUpload upload(api, first_packed);
  for (std::size_t i = 0; i < count; ++i) {
    const tessera_program_constant& c = program.constants[i];
    if (c.bytes == 0) continue;
    void* at = static_cast<char*>(states.constants_memory) + c.offset;
    states.constants[i] = at;
    if (c.offset >= first_packed) continue;
    if (std::int32_t status = upload.copy(at, model.constants[i], c.bytes)) return status;
  }
  if (std::int32_t status = upload.finish()) return status;
  return upload_packed(program, states.device, states.constants_memory);
}

}  // namespace tessera::runtime
