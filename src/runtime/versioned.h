// SPDX-License-Identifier: Apache-2.0
// Structures that grow: the caller's may be shorter than ours.
#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/error.h"
#include "tessera/model.h"

namespace tessera::runtime {

// Copies as much of `full` as the caller's structure has room for, and leaves its struct_bytes.
template <class T>
std::int32_t copy_versioned(const T& full, T* to, const char* type) {
  const std::uint32_t bytes = to->struct_bytes;
  if (bytes < sizeof(std::uint32_t)) {
    return fail(TESSERA_INVALID_ARGUMENT, "struct_bytes of %s is not set to its size", type);
  }
  std::memcpy(to, &full, std::min<std::size_t>(bytes, sizeof(T)));
  to->struct_bytes = bytes;
  return TESSERA_OK;
}

}  // namespace tessera::runtime
