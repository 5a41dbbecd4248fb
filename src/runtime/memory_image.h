// SPDX-License-Identifier: Apache-2.0
// Shared libraries that travel inside of a model's library: opened from memory, once a process for
// all models that carry the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/program.h"

namespace tessera::runtime {

struct MemoryImage {
  const void* data;  // packed, if `unpack` is not null
  std::uint64_t data_bytes;
  std::uint64_t bytes;  // of the image
  const char* hash;     // of its bytes, in letters and digits: images of one hash are the same
  decltype(tessera_program_bundled::unpack) unpack;
};

// A handle as dlopen gives one. Null where the system forbids it; `failure` then says why, in
// parentheses, with a space in front.
void* open_image(const MemoryImage& image, char (&failure)[256]);

}  // namespace tessera::runtime
