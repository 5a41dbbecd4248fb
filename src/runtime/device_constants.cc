// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/device.h"
#include "runtime/device_run.h"
#include "runtime/device_scope.h"
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
  if (bytes == 0) return TESSERA_OK;
  const tessera_device_api& api = *program.device_api;
  const DeviceScope scope(&api, states.device);
  tessera_device_error error = {};
  if (std::int32_t status = api.allocate(bytes, &states.constants_memory, &error)) {
    return fail(status, "memory for the model's constants: %s", error.text);
  }
  states.constants_bytes = bytes;
  DeviceUpload upload(api, bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const tessera_program_constant& c = program.constants[i];
    if (c.bytes == 0) continue;
    void* at = static_cast<char*>(states.constants_memory) + c.offset;
    states.constants[i] = at;
    if (std::int32_t status = upload.copy(at, model.constants[i], c.bytes)) return status;
  }
  return upload.finish();
}

}  // namespace tessera::runtime
