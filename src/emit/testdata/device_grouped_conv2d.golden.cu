#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// grouped_conv2d
//   in  x0: float16(32, 28, 28, 256), x1: float16(3, 3, 8, 256)
//   out converted: float16(32, 14, 14, 256)
//   ops: nn.conv2d
//   schedule: rows
extern "C" __global__ void __launch_bounds__(256) grouped_conv2d_launch0(
    const tk::float16* x0, const tk::float16* x1, tk::float16* __restrict__ converted) {
  tk::wait_for_inputs(x0, x1);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t places = thread / 32 % 2;
  const int32_t j = thread / 64 % 14;
  const int32_t i = thread / 896 % 32;
  float conv_sums[28];  // (7, 4)
  #pragma unroll
  for (int32_t p = 0; p < 7; ++p) {
    #pragma unroll
    for (int32_t v = 0; v < 4; ++v) {
      conv_sums[p * 4 + v] = 0.0f;
    }
  }
  for (int32_t kh = 0; kh < 3; ++kh) {
    float row[120];  // (15, 8)
    #pragma unroll
    for (int32_t u = 0; u < 15; ++u) {
      {
        float x0_vector[8];
        tk::load_vector_if<8>(1 <= j * 2 + kh && 1 <= places * 14 + u, x0_vector, &x0[i * 200704 + j * 14336 + kh * 7168 + places * 3584 + u * 256 + thread / 28672 * 128 + thread / 2 % 16 * 8 - 7424]);
        #pragma unroll
        for (int32_t i_1 = 0; i_1 < 8; ++i_1) {
          row[u * 8 + i_1] = x0_vector[i_1];
        }
      }
    }
    #pragma unroll
    for (int32_t k = 0; k < 3; ++k) {
      #pragma unroll
      for (int32_t i_1 = 0; i_1 < 8; ++i_1) {
        float weights[4];  // (4)
        {
          float x1_vector[4];
          tk::load_vector<4>(x1_vector, &x1[kh * 6144 + k * 2048 + i_1 * 256 + thread / 28672 * 128 + thread % 32 * 4]);
          #pragma unroll
          for (int32_t c = 0; c < 4; ++c) {
            weights[c] = x1_vector[c];
          }
        }
        #pragma unroll
        for (int32_t p = 0; p < 7; ++p) {
          #pragma unroll
          for (int32_t v = 0; v < 4; ++v) {
            conv_sums[p * 4 + v] = conv_sums[p * 4 + v] + row[p * 16 + k * 8 + i_1] * weights[v];
          }
        }
      }
    }
  }
  #pragma unroll
  for (int32_t p = 0; p < 7; ++p) {
    {
      float converted_vector[4];
      #pragma unroll
      for (int32_t v = 0; v < 4; ++v) {
        converted_vector[v] = float(tk::float16(conv_sums[p * 4 + v]));
      }
      tk::store_vector<4>(&converted[i * 50176 + j * 3584 + places * 1792 + p * 256 + thread / 28672 * 128 + thread % 32 * 4], converted_vector);
    }
  }
}

extern "C" int32_t grouped_conv2d(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (32, 28, 28, 256)
  auto* const x1 = static_cast<tk::float16*>(buffers[1]);  // (3, 3, 8, 256)
  auto* const converted = static_cast<tk::float16*>(buffers[2]);  // (32, 14, 14, 256)
  if (const int32_t status =
          tk::launch(call, "grouped_conv2d_launch0", grouped_conv2d_launch0, 224, 256, x0, x1, converted)) {
    return status;
  }
  return 0;
}
