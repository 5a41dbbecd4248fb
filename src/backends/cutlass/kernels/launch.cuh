// SPDX-License-Identifier: Apache-2.0
// What all kernels need to be launched.
#pragma once

#include <cstdio>

#include <cuda_runtime_api.h>

#include "backends/cutlass/kernels/gemm.h"

namespace tessera::cutlass {

inline int32_t failed(const tessera_call* call, const char* kernel, const char* what) {
  char text[256];
  snprintf(text, sizeof text, "%s: %s", kernel, what);
  call->set_error(call, text);
  return 1;
}

}  // namespace tessera::cutlass
