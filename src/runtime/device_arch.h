// SPDX-License-Identifier: Apache-2.0
// Which GPUs code for an architecture runs on, and which code is best for a GPU: the compiler says
// that, too. What nvcc is told of it says types/gpu_arch.h, which libraries do not carry.
#pragma once

#include <cstdlib>
#include <cstring>

namespace tessera::runtime {

// sm_90 code runs on 9.x from 9.0 on, sm_90a code on 9.0 alone; PTX ("sm_90+ptx") on everything
// later.
inline bool runs_on(const char* arch, int major, int minor) {
  const int number = std::atoi(std::strncmp(arch, "sm_", 3) == 0 ? arch + 3 : arch);
  const int device = major * 10 + minor;
  const bool is_exact = std::strchr(arch, 'a') != nullptr;
  if (std::strstr(arch, "+ptx") != nullptr && !is_exact) return device >= number;
  if (is_exact) return device == number;
  return device / 10 == number / 10 && device >= number;
}

// What follows the number of the architecture that a GPU is best served by: of 9.0, sm_90a.
inline const char* arch_suffix(int number) { return number == 90 ? "a" : ""; }

}  // namespace tessera::runtime
