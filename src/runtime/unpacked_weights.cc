// SPDX-License-Identifier: Apache-2.0
#include "runtime/unpacked_weights.h"

#include <sys/mman.h>

#include "runtime/array.h"
#include "runtime/error.h"
#include "runtime/fork.h"
#include "runtime/threads.h"

namespace tessera::runtime {
namespace {

struct Unpacked {
  const tessera_program* program;
  void* memory;
  std::int32_t references;
  Unpacked* next;
};

Unpacked* first = nullptr;  // guarded by ForkLock

// What points at the program's own, or at the end of the list.
Unpacked** place_of(const tessera_program& program) {
  Unpacked** at = &first;
  while (*at != nullptr && (*at)->program != &program) at = &(*at)->next;
  return at;
}

bool has_unpacked(const tessera_program& program) {
  for (std::int32_t i = 0; i < program.packed_count; ++i) {
    if (is_unpacked_on_host(program, program.packed[i])) return true;
  }
  return false;
}

std::int32_t place(void* unpacked, const tessera_unpacked_block* block, void** out) {
  const auto& u = *static_cast<const Unpacked*>(unpacked);
  if (is_unpacked_on_host(*u.program, u.program->packed[block->weight])) {
    *out = static_cast<char*>(u.memory) + (block->offset - u.program->mapped_bytes);
  }
  return TESSERA_OK;
}

std::int32_t unpack(Unpacked& unpacked) {
  const tessera_unpack_target target = {&unpacked, place, nullptr};
  const std::int32_t status =
      unpacked.program->unpack(unpacked.program, &target, default_threads());
  return status == TESSERA_OK ? status : fail_unpacking(status);
}

std::int32_t make(const tessera_program& program, Unpacked** at) {
  auto* unpacked = create<Unpacked>();
  if (unpacked == nullptr) return fail_out_of_memory("the unpacked weights");
  void* memory = mmap(nullptr, program.unpacked_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    destroy(unpacked);
    return fail_out_of_memory("the unpacked weights");
  }
  madvise(memory, program.unpacked_bytes, MADV_HUGEPAGE);  // it may say no
  *unpacked = {&program, memory, 0, nullptr};
  if (std::int32_t status = unpack(*unpacked)) {
    munmap(memory, program.unpacked_bytes);
    destroy(unpacked);
    return status;
  }
  mprotect(memory, program.unpacked_bytes, PROT_READ);  // as in the file
  *at = unpacked;
  return TESSERA_OK;
}

}  // namespace

std::int32_t fail_unpacking(std::int32_t status) {
  if (status == TESSERA_OUT_OF_MEMORY) return fail_out_of_memory("unpacking the weights");
  return fail(TESSERA_DAMAGED,
              "the packed weights of this library are damaged, or its file was cut: copy it "
              "again, or compile the model again");
}

std::int32_t use_unpacked_weights(const tessera_program& program, const void** memory) {
  *memory = nullptr;
  if (!has_unpacked(program)) return TESSERA_OK;
  const ForkLock lock;
  Unpacked** at = place_of(program);
  if (*at == nullptr) {
    if (std::int32_t status = make(program, at)) return status;
  }
  ++(*at)->references;
  *memory = (*at)->memory;
  return TESSERA_OK;
}

void release_unpacked_weights(const tessera_program& program) {
  if (!has_unpacked(program)) return;
  const ForkLock lock;
  Unpacked** at = place_of(program);
  if (*at == nullptr || --(*at)->references > 0) return;
  Unpacked* last = *at;
  *at = last->next;
  munmap(last->memory, program.unpacked_bytes);
  destroy(last);
}

}  // namespace tessera::runtime
