// SPDX-License-Identifier: Apache-2.0
// What an instance's memory is, by what it is for.
#include "runtime/instance.h"
#include "runtime/versioned.h"

int32_t tessera_instance_memory(tessera_instance* instance, tessera_memory* memory) {
  using namespace tessera::runtime;
  if (memory == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`memory` is a null pointer");
  return alone(instance, [&] {
    tessera_memory all = TESSERA_MEMORY_INIT;
    const auto add = [&](const Block& block, std::uint64_t* bytes) {
      if (!block.owned) return;  // a place in a pool
      *(block.device.device_type == TESSERA_CUDA_HOST ? &all.pinned_bytes : bytes) += block.bytes;
    };
    const auto add_all = [&](const Array<Block>& blocks, std::uint64_t* bytes) {
      for (const Block& block : blocks) add(block, bytes);
    };
    const DeviceWork& work = instance->work;
    all.constant_bytes = work.api != nullptr ? work.library->constants_bytes
                                             : instance->model->program->unpacked_bytes;
    for (const Block& pool : instance->pools) all.pool_bytes += pool.bytes;
    add(instance->workspace, &all.other_bytes);
    const Array<Block>* const others[] = {&instance->own_outputs, &instance->weights,
                                          &instance->heap,        &work.inputs,
                                          &work.outputs,          &work.staging};
    for (const Array<Block>* blocks : others) add_all(*blocks, &all.other_bytes);
    add(work.flag, &all.other_bytes);
    add(work.copies, &all.other_bytes);
    add(work.sent, &all.other_bytes);
    add(work.weight_copies, &all.other_bytes);
    return copy_versioned(all, memory, "tessera_memory");
  });
}
