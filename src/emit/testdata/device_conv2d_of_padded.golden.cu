#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// conv2d_of_padded
//   in  x0: float32(8, 64, 58, 58), x1: float32(64, 64, 3, 3)
//   out conv: float32(8, 64, 56, 56)
//   ops: nn.conv2d
//   schedule: tiles
extern "C" __global__ void __launch_bounds__(256) conv2d_of_padded_launch0(
    const float* x0, const float* x1, float* __restrict__ conv) {
  tk::wait_for_inputs(x0, x1);
  const int32_t tile = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  float conv_acc[16];  // each thread's part of (256, 4, 4)
  {
    [[maybe_unused]] const int32_t t = rank;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 4; ++j) {
        conv_acc[i * 4 + j] = 0.0f;
      }
    }
  }
  {
    __shared__ alignas(16) float a_tile[1088];  // (16, 68)
    __shared__ alignas(16) float b_tile[1088];  // (16, 68)
    for (int32_t step = 0; step < 36; ++step) {
      tk::block<256>::sync();
      #pragma unroll
      for (int32_t trip = 0; trip < 4; ++trip) {
        [[maybe_unused]] const int32_t t = trip * 256 + rank;
        const int32_t at = t / 16;
        const int32_t term = step * 16 + t % 16;
        a_tile[t % 16 * 68 + t / 16] = x1[at * 576 + term];
      }
      #pragma unroll
      for (int32_t trip = 0; trip < 4; ++trip) {
        [[maybe_unused]] const int32_t t = trip * 256 + rank;
        const int32_t at_1 = tile * 64 + t / 16;
        const int32_t term_1 = step * 16 + t % 16;
        b_tile[t % 16 * 68 + t / 16] = x0[at_1 / 3136 * 215296 + term_1 / 9 * 3364 + at_1 / 56 % 56 * 58 + term_1 / 3 % 3 * 58 + at_1 % 56 + term_1 % 3];
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
              conv_acc[i * 4 + j] = conv_acc[i * 4 + j] + a_tile[k * 68 + t / 16 * 4 + i] * b_tile[k * 68 + t % 16 * 4 + j];
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
        const int32_t row = t / 16 * 4 + i;
        const int32_t column = tile * 64 + t % 16 * 4 + j;
        conv[column / 3136 * 200704 + row * 3136 + column % 3136] = conv_acc[i * 4 + j];
      }
    }
  }
}

extern "C" int32_t conv2d_of_padded(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<float*>(buffers[0]);  // (8, 64, 58, 58)
  auto* const x1 = static_cast<float*>(buffers[1]);  // (64, 64, 3, 3)
  auto* const conv = static_cast<float*>(buffers[2]);  // (8, 64, 56, 56)
  if (const int32_t status =
          tk::launch(call, "conv2d_of_padded_launch0", conv2d_of_padded_launch0, 392, 256, x0, x1, conv)) {
    return status;
  }
  return 0;
}
