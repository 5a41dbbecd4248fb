// SPDX-License-Identifier: Apache-2.0
// Memory that the state of a back end has for itself, on its instance's device.
#pragma once

#include <cstdint>

#include "runtime/error.h"
#include "tessera/call.h"

struct tessera_device_api;

namespace tessera::runtime {

class StateMemory {
 public:
  // Null: the CPU's.
  explicit StateMemory(const tessera_device_api* api) : api_(api) {}

  // False: `error` says why.
  [[nodiscard]] bool allocate(std::uint64_t bytes, void** memory, TextBuffer* error) const;
  void release(void* memory) const;
  // From the host's memory; it is there when this returns.
  [[nodiscard]] bool upload(void* to, const void* from, std::uint64_t bytes,
                            TextBuffer* error) const;
  // In the order of the stream's work, from and to memory of the device.
  [[nodiscard]] bool copy(void* to, const void* from, std::uint64_t bytes, void* stream,
                          TextBuffer* error) const;

 private:
  const tessera_device_api* api_;
};

// To be asked while a state is created; what it gives is valid until the state is destroyed.
StateMemory state_memory(const tessera_state_args* args);

}  // namespace tessera::runtime
