// SPDX-License-Identifier: Apache-2.0
#include "runtime/state_device.h"

#include <cstdlib>
#include <cstring>

#include "runtime/device.h"

namespace tessera::runtime {

bool StateMemory::allocate(std::uint64_t bytes, void** memory, TextBuffer* error) const {
  if (api_ != nullptr) {
    tessera_device_error why = {};
    if (api_->allocate(bytes, memory, &why) == TESSERA_OK) return true;
    error->add("%s", why.text);
    return false;
  }
  *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*memory == nullptr) error->add("out of memory");
  return *memory != nullptr;
}

void StateMemory::release(void* memory) const {
  if (memory == nullptr) return;
  if (api_ != nullptr) return api_->release(memory);
  std::free(memory);
}

bool StateMemory::upload(void* to, const void* from, std::uint64_t bytes, TextBuffer* error) const {
  if (!copy(to, from, bytes, nullptr, error)) return false;
  tessera_device_error why = {};
  if (api_ == nullptr || api_->synchronize(nullptr, &why) == TESSERA_OK) return true;
  error->add("%s", why.text);
  return false;
}

bool StateMemory::copy(void* to, const void* from, std::uint64_t bytes, void* stream,
                       TextBuffer* error) const {
  if (api_ == nullptr) {
    std::memcpy(to, from, bytes);
    return true;
  }
  tessera_device_error why = {};
  if (api_->copy(to, from, bytes, stream, &why) == TESSERA_OK) return true;
  error->add("%s", why.text);
  return false;
}

}  // namespace tessera::runtime
