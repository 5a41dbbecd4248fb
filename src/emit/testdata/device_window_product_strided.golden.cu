#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// window_product_strided
//   in  x0: bfloat16(3, 15, 61, 128), x1: bfloat16(5, 3, 64, 128)
//   out converted: bfloat16(3, 8, 61, 128)
//   ops: nn.conv2d
//   schedule: rows
extern "C" __global__ void __launch_bounds__(256) window_product_strided_launch0(
    const tk::bfloat16* x0, const tk::bfloat16* x1, tk::bfloat16* __restrict__ converted) {
  tk::wait_for_inputs(x0, x1);
  const int32_t block = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  __shared__ alignas(16) float conv_sums[5760];  // (1, 8, 6, 120)
  tk::window_product<
      tk::window_tile<1, 1, 8, 6, 1, 64, 32, 120>,
      tk::window_form<5, 3, 2, 1, 1, 1>,
      tk::window_image<15, 61, 128, 128>>(
      conv_sums, &x0[block / 44 * 117120 + block / 2 % 2 * 64],
      &x1[block % 4 * 32],
      static_cast<int>(-2), static_cast<int>(block / 4 % 11 * 6 - 1));
  const int32_t results = block % 4;
  const int32_t columns = block / 4 % 11;
  const int32_t images = block / 44;
  tk::block<256>::sync();
  {
    [[maybe_unused]] const int32_t e = rank;
    if (e < 192) {
      const int32_t row = e / 24;
      const int32_t column = e / 4 % 6;
      if (columns * 6 + column < 61) {
        {
          float converted_vector[8];
          #pragma unroll
          for (int32_t v = 0; v < 8; ++v) {
            converted_vector[v] = float(tk::bfloat16(conv_sums[row * 720 + column * 120 + e % 4 * 8 + v]));
          }
          tk::store_vector<8>(&converted[images * 62464 + row * 7808 + columns * 768 + column * 128 + results * 32 + e % 4 * 8], converted_vector);
        }
      }
    }
  }
}

extern "C" int32_t window_product_strided(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::bfloat16*>(buffers[0]);  // (3, 15, 61, 128)
  auto* const x1 = static_cast<tk::bfloat16*>(buffers[1]);  // (5, 3, 64, 128)
  auto* const converted = static_cast<tk::bfloat16*>(buffers[2]);  // (3, 8, 61, 128)
  if (const int32_t status =
          tk::launch(call, "window_product_strided_launch0", window_product_strided_launch0, 132, 256, x0, x1, converted)) {
    return status;
  }
  return 0;
}
