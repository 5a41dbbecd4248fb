#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// k02_two_sizes
//   in  x: float16(n, m)
//   out y: float16(n, m), tail: float16(n, m)
//   ops: nn.relu strided_slice
extern "C" __global__ void __launch_bounds__(256) k02_two_sizes_launch0(
    const tk::float16* x, tk::float16* __restrict__ y, const int64_t n, const int64_t m) {
  tk::wait_for_inputs(x);
  const int64_t i = int64_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  if (i >= n * m) return;
  y[i] = tk::float16(tk::max<float>(float(x[i]), 0.0f));
}

extern "C" __global__ void __launch_bounds__(256) k02_two_sizes_launch1(
    const tk::float16* x, tk::float16* __restrict__ tail, const int64_t n, const int64_t m) {
  tk::wait_for_inputs(x);
  const int64_t i = int64_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  if (i >= n * m - n) return;
  tail[i] = tk::float16(float(x[i]));
}

extern "C" int32_t k02_two_sizes(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (n, m)
  auto* const y = static_cast<tk::float16*>(buffers[1]);  // (n, m)
  auto* const tail = static_cast<tk::float16*>(buffers[2]);  // (n, m)
  [[maybe_unused]] const int64_t n = dims[0];
  [[maybe_unused]] const int64_t m = dims[1];
  if (const int32_t status =
          tk::launch(call, "k02_two_sizes_launch0", k02_two_sizes_launch0, (n * m + 255) / 256, 256, x, y, n, m)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "k02_two_sizes_launch1", k02_two_sizes_launch1, tk::floor_div<int64_t>(n * m - n + 255, 256), 256, x, tail, n, m)) {
    return status;
  }
  return 0;
}
