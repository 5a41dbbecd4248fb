#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// transpose_in_vectors
//   in  x0: float16(1032, 4096)
//   out y: float16(4096, 1032)
//   ops: transpose
extern "C" __global__ void __launch_bounds__(256) transpose_in_vectors_launch0(
    const tk::float16* x0, tk::float16* __restrict__ y) {
  tk::wait_for_inputs(x0);
  const int32_t tile = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  __shared__ alignas(16) float x0_tile[4160];  // (64, 65)
  #pragma unroll
  for (int32_t trip = 0; trip < 2; ++trip) {
    [[maybe_unused]] const int32_t t = trip * 256 + rank;
    if (tile % 17 * 64 + t / 8 < 1032) {
      {
        float x0_vector[8];
        tk::load_vector<8>(x0_vector, &x0[tile % 17 * 262144 + t / 8 * 4096 + tile / 17 * 64 + t % 8 * 8]);
        #pragma unroll
        for (int32_t v = 0; v < 8; ++v) {
          x0_tile[t / 8 * 65 + t % 8 * 8 + v] = x0_vector[v];
        }
      }
    }
  }
  tk::block<256>::sync();
  #pragma unroll
  for (int32_t trip = 0; trip < 2; ++trip) {
    [[maybe_unused]] const int32_t t = trip * 256 + rank;
    if (tile % 17 * 64 + t % 8 * 8 < 1032) {
      {
        float y_vector[8];
        #pragma unroll
        for (int32_t v = 0; v < 8; ++v) {
          y_vector[v] = x0_tile[t % 8 * 520 + v * 65 + t / 8];
        }
        tk::store_vector<8>(&y[tile / 17 * 66048 + t / 8 * 1032 + tile % 17 * 64 + t % 8 * 8], y_vector);
      }
    }
  }
}

extern "C" int32_t transpose_in_vectors(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (1032, 4096)
  auto* const y = static_cast<tk::float16*>(buffers[1]);  // (4096, 1032)
  if (const int32_t status =
          tk::launch(call, "transpose_in_vectors_launch0", transpose_in_vectors_launch0, 1088, 256, x0, y)) {
    return status;
  }
  return 0;
}
