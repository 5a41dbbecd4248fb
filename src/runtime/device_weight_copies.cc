// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_run.h"

namespace tessera::runtime {
namespace {

constexpr std::uint64_t kAlign = 256;  // as tessera_device_api allocates

// The library's table of constants, moved to where a copy of their memory begins.
void fill_table(const DeviceStates& library, const char* copy, const void** table) {
  const auto* original = static_cast<const char*>(library.constants_memory);
  for (std::size_t i = 0; i < library.constants.size(); ++i) {
    const auto* at = static_cast<const char*>(library.constants[i]);
    table[i] = at == nullptr ? nullptr : copy + (at - original);
  }
}

}  // namespace

std::int32_t copy_weights(tessera_instance& instance, std::int32_t copies) {
  DeviceWork& work = instance.work;
  const DeviceStates& library = *work.library;
  if (copies <= 1 || library.constants_bytes == 0) return TESSERA_OK;
  const auto more = static_cast<std::uint64_t>(copies) - 1;
  const std::uint64_t stride = (library.constants_bytes + kAlign - 1) / kAlign * kAlign;
  if (more > UINT64_MAX / stride) return fail_out_of_memory("copies of the weights");
  if (!work.copied_weights.allocate(more * library.constants.size())) {
    return fail_out_of_memory("the tables of copied weights");
  }
  if (std::int32_t status = allocate_block(instance, more * stride, kAlign, "copies of the weights",
                                           &work.weight_copies)) {
    return status;
  }
  for (std::uint64_t i = 0; i < more; ++i) {
    char* copy = static_cast<char*>(work.weight_copies.data) + i * stride;
    if (std::int32_t status =
            copy_to_device(instance, copy, library.constants_memory, library.constants_bytes)) {
      return status;
    }
    fill_table(library, copy, work.copied_weights.data() + i * library.constants.size());
  }
  return TESSERA_OK;
}

const void* const* weights_of(const tessera_instance& instance, std::int32_t computation) {
  const Array<const void*>& own = instance.work.library->constants;
  const Array<const void*>& copied = instance.work.copied_weights;
  const std::size_t copies = own.size() == 0 ? 1 : 1 + copied.size() / own.size();
  const std::size_t copy = static_cast<std::size_t>(computation) % copies;
  return copy == 0 ? own.data() : copied.data() + (copy - 1) * own.size();
}

}  // namespace tessera::runtime
