#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// grouped_conv2d
//   in  x0: float16(32, 28, 28, 128), x1: float16(3, 3, 4, 128)
//   out converted: float16(32, 14, 14, 128)
//   ops: nn.conv2d
//   schedule: rows
extern "C" __global__ void __launch_bounds__(256) grouped_conv2d_launch0(
    const tk::float16* x0, const tk::float16* x1, tk::float16* __restrict__ converted) {
  tk::wait_for_inputs(x0, x1);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t places = thread / 32 % 5;
  const int32_t j = thread / 160 % 14;
  const int32_t i = thread / 2240;
  float conv_sums[12];  // (3, 4)
  #pragma unroll
  for (int32_t p = 0; p < 3; ++p) {
    #pragma unroll
    for (int32_t v = 0; v < 4; ++v) {
      conv_sums[p * 4 + v] = 0.0f;
    }
  }
  for (int32_t kh = 0; kh < 3; ++kh) {
    float row[28];  // (7, 4)
    #pragma unroll
    for (int32_t u = 0; u < 7; ++u) {
      {
        float x0_vector[4];
        tk::load_vector_if<4>(places * 6 + u < 29 && (1 <= j * 2 + kh && 1 <= places * 6 + u && places * 6 + u - 1 < 28), x0_vector, &x0[i * 100352 + j * 7168 + kh * 3584 + places * 768 + u * 128 + thread % 32 * 4 - 3712]);
        #pragma unroll
        for (int32_t i_1 = 0; i_1 < 4; ++i_1) {
          row[u * 4 + i_1] = x0_vector[i_1];
        }
      }
    }
    #pragma unroll
    for (int32_t k = 0; k < 3; ++k) {
      #pragma unroll
      for (int32_t i_1 = 0; i_1 < 4; ++i_1) {
        float weights[4];  // (4)
        {
          float x1_vector[4];
          tk::load_vector<4>(x1_vector, &x1[kh * 1536 + k * 512 + i_1 * 128 + thread % 32 * 4]);
          #pragma unroll
          for (int32_t c = 0; c < 4; ++c) {
            weights[c] = x1_vector[c];
          }
        }
        #pragma unroll
        for (int32_t p = 0; p < 3; ++p) {
          #pragma unroll
          for (int32_t v = 0; v < 4; ++v) {
            conv_sums[p * 4 + v] = conv_sums[p * 4 + v] + row[p * 8 + k * 4 + i_1] * weights[v];
          }
        }
      }
    }
  }
  #pragma unroll
  for (int32_t p = 0; p < 3; ++p) {
    if (places * 3 + p < 14) {
      {
        float converted_vector[4];
        #pragma unroll
        for (int32_t v = 0; v < 4; ++v) {
          converted_vector[v] = float(tk::float16(conv_sums[p * 4 + v]));
        }
        tk::store_vector<4>(&converted[i * 25088 + j * 1792 + places * 384 + p * 128 + thread % 32 * 4], converted_vector);
      }
    }
  }
}

extern "C" int32_t grouped_conv2d(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (32, 28, 28, 128)
  auto* const x1 = static_cast<tk::float16*>(buffers[1]);  // (3, 3, 4, 128)
  auto* const converted = static_cast<tk::float16*>(buffers[2]);  // (32, 14, 14, 128)
  if (const int32_t status =
          tk::launch(call, "grouped_conv2d_launch0", grouped_conv2d_launch0, 280, 256, x0, x1, converted)) {
    return status;
  }
  return 0;
}
