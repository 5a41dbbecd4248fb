#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// dense_bias_gelu
//   in  x: float32(128, 768), w: float32(3072, 768), b: float32(3072)
//   out y: float32(128, 3072)
//   ops: nn.dense add nn.gelu
//   schedule: tiles
extern "C" __global__ void __launch_bounds__(256) dense_bias_gelu_launch0(
    const float* x, const float* w, const float* b, float* __restrict__ y) {
  tk::wait_for_inputs(x, w, b);
  const int32_t tile = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  float product_acc[16];  // each thread's part of (256, 4, 4)
  {
    [[maybe_unused]] const int32_t t = rank;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 4; ++j) {
        product_acc[i * 4 + j] = 0.0f;
      }
    }
  }
  {
    __shared__ alignas(16) float a_tile[1088];  // (16, 68)
    __shared__ alignas(16) float b_tile[1088];  // (16, 68)
    for (int32_t step = 0; step < 48; ++step) {
      tk::block<256>::sync();
      #pragma unroll
      for (int32_t trip = 0; trip < 4; ++trip) {
        [[maybe_unused]] const int32_t t = trip * 256 + rank;
        const int32_t at = tile / 48 * 64 + t / 16;
        const int32_t term = step * 16 + t % 16;
        a_tile[t % 16 * 68 + t / 16] = x[at * 768 + term];
      }
      #pragma unroll
      for (int32_t trip = 0; trip < 4; ++trip) {
        [[maybe_unused]] const int32_t t = trip * 256 + rank;
        const int32_t at_1 = tile % 48 * 64 + t / 16;
        const int32_t term_1 = step * 16 + t % 16;
        b_tile[t % 16 * 68 + t / 16] = w[at_1 * 768 + term_1];
      }
      tk::block<256>::sync();
      {
        [[maybe_unused]] const int32_t t = rank;
        #pragma unroll
        for (int32_t k = 0; k < 16; ++k) {
          #pragma unroll
          for (int32_t i = 0; i < 4; ++i) {
            #pragma unroll
            for (int32_t j = 0; j < 4; ++j) {
              product_acc[i * 4 + j] = product_acc[i * 4 + j] + a_tile[k * 68 + t / 16 * 4 + i] * b_tile[k * 68 + t % 16 * 4 + j];
            }
          }
        }
      }
    }
  }
  {
    [[maybe_unused]] const int32_t t = rank;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 4; ++j) {
        const int32_t row = tile / 48 * 64 + t / 16 * 4 + i;
        const int32_t column = tile % 48 * 64 + t % 16 * 4 + j;
        const float y_1 = product_acc[i * 4 + j] + b[column];
        y[row * 3072 + column] = y_1 * 0.5f * (1.0f + tk::erf(y_1 * 0.70710677f));
      }
    }
  }
}

extern "C" int32_t dense_bias_gelu(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<float*>(buffers[0]);  // (128, 768)
  auto* const w = static_cast<float*>(buffers[1]);  // (3072, 768)
  auto* const b = static_cast<float*>(buffers[2]);  // (3072)
  auto* const y = static_cast<float*>(buffers[3]);  // (128, 3072)
  if (const int32_t status =
          tk::launch(call, "dense_bias_gelu_launch0", dense_bias_gelu_launch0, 96, 256, x, w, b, y)) {
    return status;
  }
  return 0;
}
