// SPDX-License-Identifier: Apache-2.0
// What a call of the CUDA runtime said, as a status with a sentence.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include <cuda_runtime_api.h>

#include "runtime/device.h"

namespace tessera::runtime::cuda {

__attribute__((format(printf, 3, 4))) inline std::int32_t fail(tessera_device_error* error,
                                                               std::int32_t status,
                                                               const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return status;
}

// Zero, or the error with what was being done.
inline std::int32_t check(cudaError_t status, const char* what, tessera_device_error* error) {
  if (status == cudaSuccess) return TESSERA_OK;
  cudaGetLastError();  // forget it, if it can be forgotten
  return fail(error, TESSERA_KERNEL_FAILED, "%s: %s", what, cudaGetErrorString(status));
}

}  // namespace tessera::runtime::cuda
