// SPDX-License-Identifier: Apache-2.0
// Users hide GPUs from a process by a variable of CUDA's, and forget that they have.
#pragma once

#include <cstdlib>

namespace tessera::runtime {

// Its value, for the formats below; null where it hides nothing.
inline const char* visible_devices() { return std::getenv("CUDA_VISIBLE_DEVICES"); }

constexpr char kNoneVisible[] =
    "no NVIDIA GPU is visible: CUDA_VISIBLE_DEVICES is `%.64s`: unset it, or let it name a GPU of "
    "this machine";

}  // namespace tessera::runtime
