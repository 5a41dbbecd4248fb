#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// window_product
//   in  x: float16(32, 14, 14, 512), w: float16(3, 3, 16, 512), b: float16(512),
//     r: float16(32, 14, 14, 512)
//   out y: float16(32, 14, 14, 512)
//   ops: nn.conv2d add add nn.relu
//   schedule: rows
extern "C" __global__ void __launch_bounds__(256) window_product_launch0(
    const tk::float16* x, const tk::float16* w, const tk::float16* b, const tk::float16* r,
    tk::float16* __restrict__ y) {
  tk::wait_for_inputs(x, w, b, r);
  const int32_t block = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  __shared__ alignas(16) float conv_sums[7056];  // (1, 7, 14, 72)
  tk::window_product<
      tk::window_tile<1, 1, 7, 14, 4, 16, 16, 72>,
      tk::window_form<3, 3, 1, 1, 1, 1>,
      tk::window_image<14, 14, 512, 512>>(
      conv_sums, &x[block / 16 * 100352 + block % 8 * 64],
      &w[block % 8 * 64],
      static_cast<int>(block / 8 % 2 * 7 - 1), static_cast<int>(-1));
  const int32_t results = block % 8;
  const int32_t rows = block / 8 % 2;
  const int32_t images = block / 16;
  tk::block<256>::sync();
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t e = trip * 256 + rank;
    if (e < 784) {
      const int32_t row = e / 112;
      const int32_t column = e / 8 % 14;
      {
        float b_vector[8];
        tk::load_vector<8>(b_vector, &b[results * 64 + e % 8 * 8]);
        float r_vector[8];
        tk::load_vector<8>(r_vector, &r[images * 100352 + rows * 50176 + row * 7168 + column * 512 + results * 64 + e % 8 * 8]);
        float y_vector[8];
        #pragma unroll
        for (int32_t v = 0; v < 8; ++v) {
          y_vector[v] = tk::max<float>(float(tk::float16(conv_sums[row * 1008 + column * 72 + e % 8 * 8 + v])) + b_vector[v] + r_vector[v], 0.0f);
        }
        tk::store_vector<8>(&y[images * 100352 + rows * 50176 + row * 7168 + column * 512 + results * 64 + e % 8 * 8], y_vector);
      }
    }
  }
}

extern "C" int32_t window_product(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (32, 14, 14, 512)
  auto* const w = static_cast<tk::float16*>(buffers[1]);  // (3, 3, 16, 512)
  auto* const b = static_cast<tk::float16*>(buffers[2]);  // (512)
  auto* const r = static_cast<tk::float16*>(buffers[3]);  // (32, 14, 14, 512)
  auto* const y = static_cast<tk::float16*>(buffers[4]);  // (32, 14, 14, 512)
  if (const int32_t status =
          tk::launch(call, "window_product_launch0", window_product_launch0, 512, 256, x, w, b, r, y)) {
    return status;
  }
  return 0;
}
