// SPDX-License-Identifier: Apache-2.0
// The reader of read_all.cuh for few_bits.py, whose --prepare makes a shared library of it.
#include <cuda_runtime.h>

#include "read_all.cuh"

extern "C" int read_only(const void* from, std::int64_t bytes, void* out, int blocks,
                         void* stream) {
  bench::read_all<<<blocks, bench::kReaders, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint4*>(from), bytes / 16, static_cast<std::uint32_t*>(out));
  return static_cast<int>(cudaGetLastError());
}
