#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// rotate_half
//   in  a: float16(1, 32, 512, 64), b: float16(1, 32, 512, 64), s: float16(512, 128)
//   out y: float16(1, 32, 512, 128)
//   ops: negative concatenate multiply
extern "C" __global__ void __launch_bounds__(256) rotate_half_launch0(
    const tk::float16* a, const tk::float16* b, const tk::float16* s,
    tk::float16* __restrict__ y) {
  tk::wait_for_inputs(a, b, s);
  const int32_t i = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  {
    float b_vector[8];
    tk::load_vector_if<8>(i % 16 * 8 < 64, b_vector, &b[i / 16 * 64 + i % 16 * 8]);
    float a_vector[8];
    tk::load_vector_if<8>(!(i % 16 * 8 < 64), a_vector, &a[i / 16 * 64 + i % 16 * 8 - 64]);
    float s_vector[8];
    tk::load_vector<8>(s_vector, &s[i % 8192 * 8]);
    float y_vector[8];
    #pragma unroll
    for (int32_t li = 0; li < 8; ++li) {
      y_vector[li] = (i % 16 * 8 < 64 ? -b_vector[li] : a_vector[li]) * s_vector[li];
    }
    tk::store_vector<8>(&y[i * 8], y_vector);
  }
}

extern "C" int32_t rotate_half(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const a = static_cast<tk::float16*>(buffers[0]);  // (1, 32, 512, 64)
  auto* const b = static_cast<tk::float16*>(buffers[1]);  // (1, 32, 512, 64)
  auto* const s = static_cast<tk::float16*>(buffers[2]);  // (512, 128)
  auto* const y = static_cast<tk::float16*>(buffers[3]);  // (1, 32, 512, 128)
  if (const int32_t status =
          tk::launch(call, "rotate_half_launch0", rotate_half_launch0, 1024, 256, a, b, s, y)) {
    return status;
  }
  return 0;
}
