#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// few_rows_bias_gelu
//   in  x: float16(2, 3, 128), w: int32(2, 2, 128), s: bfloat16(2, 2, 16),
//     z: bfloat16(2, 2, 16), b: float16(25)
//   out y: float16(2, 3, 25)
//   ops: qnn.dense_fragments add nn.gelu
//   schedule: few rows
extern "C" __global__ void __launch_bounds__(256) few_rows_bias_gelu_launch0(
    const tk::float16* x, const int32_t* w, const tk::bfloat16* s, const tk::bfloat16* z,
    const tk::float16* b, tk::float16* __restrict__ y) {
  const int64_t tile = int64_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  tk::words<4, 64, 128, tk::bfloat16, tk::zeros<tk::bfloat16>>{&w[tile * 256], &s[tile * 32], {&z[tile * 32]}}.prefetch<16>();
  tk::wait_for_inputs(x, w, s, z, b);
  __shared__ alignas(16) float product_sums[256];  // (16, 16)
  tk::few_rows<256, 16, 128>(product_sums, 6, &x[0],
      tk::words<4, 64, 128, tk::bfloat16, tk::zeros<tk::bfloat16>>{&w[tile * 256], &s[tile * 32], {&z[tile * 32]}});
  tk::block<256>::sync();
  {
    [[maybe_unused]] const int64_t e = rank;
    if (e < 96) {
      const int64_t row_1 = e / 16;
      const int64_t column_1 = tile * 16 + e % 16;
      if (column_1 < 25) {
        const float y_1 = float(tk::float16(product_sums[e])) + float(b[column_1]);
        y[row_1 * 25 + column_1] = tk::float16(y_1 * 0.5f * (1.0f + tk::erf_half(y_1 * 0.70710677f)));
      }
    }
  }
}

extern "C" int32_t few_rows_bias_gelu(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (2, 3, 128)
  auto* const w = static_cast<int32_t*>(buffers[1]);  // (2, 2, 128)
  auto* const s = static_cast<tk::bfloat16*>(buffers[2]);  // (2, 2, 16)
  auto* const z = static_cast<tk::bfloat16*>(buffers[3]);  // (2, 2, 16)
  auto* const b = static_cast<tk::float16*>(buffers[4]);  // (25)
  auto* const y = static_cast<tk::float16*>(buffers[5]);  // (2, 3, 25)
  if (const int32_t status =
          tk::launch(call, "few_rows_bias_gelu_launch0", few_rows_bias_gelu_launch0, 2, 256, x, w, s, z, b, y)) {
    return status;
  }
  return 0;
}
