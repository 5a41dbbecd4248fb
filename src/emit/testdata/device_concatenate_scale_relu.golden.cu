#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// concatenate_scale_relu
//   in  a: float16(32, 56, 56, 64), b: float16(32, 56, 56, 32), c: float16(32, 56, 56, 32),
//     s: float16(128)
//   out y: float16(32, 56, 56, 128)
//   ops: concatenate multiply nn.relu
extern "C" __global__ void __launch_bounds__(256) concatenate_scale_relu_launch0(
    const tk::float16* a, const tk::float16* b, const tk::float16* c, const tk::float16* s,
    tk::float16* __restrict__ y) {
  tk::wait_for_inputs(a, b, c, s);
  const int32_t i = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  {
    float chosen_vector[8];
    tk::load_vector<8>(chosen_vector, (i % 16 * 8 < 64 ? &a[i / 16 * 64 + i % 16 * 8] : (i % 16 * 8 < 96 ? &b[i / 16 * 32 + i % 16 * 8 - 64] : &c[i / 16 * 32 + i % 16 * 8 - 96])));
    float s_vector[8];
    tk::load_vector<8>(s_vector, &s[i % 16 * 8]);
    float y_vector[8];
    #pragma unroll
    for (int32_t li = 0; li < 8; ++li) {
      y_vector[li] = tk::max<float>(chosen_vector[li] * s_vector[li], 0.0f);
    }
    tk::store_vector<8>(&y[i * 8], y_vector);
  }
}

extern "C" int32_t concatenate_scale_relu(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const a = static_cast<tk::float16*>(buffers[0]);  // (32, 56, 56, 64)
  auto* const b = static_cast<tk::float16*>(buffers[1]);  // (32, 56, 56, 32)
  auto* const c = static_cast<tk::float16*>(buffers[2]);  // (32, 56, 56, 32)
  auto* const s = static_cast<tk::float16*>(buffers[3]);  // (128)
  auto* const y = static_cast<tk::float16*>(buffers[4]);  // (32, 56, 56, 128)
  if (const int32_t status =
          tk::launch(call, "concatenate_scale_relu_launch0", concatenate_scale_relu_launch0, 6272, 256, a, b, c, s, y)) {
    return status;
  }
  return 0;
}
