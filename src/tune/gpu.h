// SPDX-License-Identifier: Apache-2.0
// The GPU of this machine, as far as records name it.
#pragma once

#include <cstdint>
#include <string>

#include "diagnostics/diagnostic.h"

namespace tessera::tune {

struct Gpu {
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0;
  int multiprocessors = 0;
};

// By the driver alone, which is looked for now. Without a GPU: a sentence.
Result<Gpu> find_gpu();

// Bytes of its second-level cache. This process asks the driver, and is none to fork from then.
Result<std::uint64_t> gpu_cache_bytes();

// How records call it when code for `device` runs on it, of whose description the architecture
// counts here: "sm_90a 132 NVIDIA H200" for "sm_90a 132 ".
std::string describe(const Gpu& gpu, const std::string& device);

// Why what is measured on it is not about devices whose description begins with `device`; "": it
// is.
std::string mismatch(const Gpu& gpu, const std::string& device);

}  // namespace tessera::tune
