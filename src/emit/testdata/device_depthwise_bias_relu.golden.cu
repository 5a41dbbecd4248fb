#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// depthwise_bias_relu
//   in  x: float16(8, 56, 56, 96), w: float16(3, 3, 1, 96), b: float16(96)
//   out y: float16(8, 56, 56, 96)
//   ops: nn.conv2d add nn.relu
//   schedule: rows
extern "C" __global__ void __launch_bounds__(256) depthwise_bias_relu_launch0(
    const tk::float16* x, const tk::float16* w, const tk::float16* b,
    tk::float16* __restrict__ y) {
  tk::wait_for_inputs(x, w, b);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t places = thread / 12 % 14;
  const int32_t j = thread / 168 % 56;
  const int32_t i = thread / 9408;
  float conv_sums[32];  // (4, 8)
  #pragma unroll
  for (int32_t p = 0; p < 4; ++p) {
    #pragma unroll
    for (int32_t v = 0; v < 8; ++v) {
      conv_sums[p * 8 + v] = 0.0f;
    }
  }
  for (int32_t kh = 0; kh < 3; ++kh) {
    float row[48];  // (6, 8)
    #pragma unroll
    for (int32_t u = 0; u < 6; ++u) {
      {
        float x_vector[8];
        tk::load_vector_if<8>(1 <= j + kh && j + kh - 1 < 56 && 1 <= places * 4 + u && places * 4 + u - 1 < 56, x_vector, &x[i * 301056 + j * 5376 + kh * 5376 + places * 384 + u * 96 + thread % 12 * 8 - 5472]);
        #pragma unroll
        for (int32_t i_1 = 0; i_1 < 8; ++i_1) {
          row[u * 8 + i_1] = x_vector[i_1];
        }
      }
    }
    #pragma unroll
    for (int32_t k = 0; k < 3; ++k) {
      float weights[8];  // (8)
      {
        float w_vector[8];
        tk::load_vector<8>(w_vector, &w[kh * 288 + k * 96 + thread % 12 * 8]);
        #pragma unroll
        for (int32_t c = 0; c < 8; ++c) {
          weights[c] = w_vector[c];
        }
      }
      #pragma unroll
      for (int32_t p = 0; p < 4; ++p) {
        #pragma unroll
        for (int32_t v = 0; v < 8; ++v) {
          conv_sums[p * 8 + v] = conv_sums[p * 8 + v] + row[p * 8 + k * 8 + v] * weights[v];
        }
      }
    }
  }
  float y_values[32];  // (4, 8)
  #pragma unroll
  for (int32_t p = 0; p < 4; ++p) {
    {
      float b_vector[8];
      tk::load_vector<8>(b_vector, &b[thread % 12 * 8]);
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        y_values[p * 8 + v] = tk::max<float>(float(tk::float16(conv_sums[p * 8 + v])) + b_vector[v], 0.0f);
      }
    }
  }
  #pragma unroll
  for (int32_t p = 0; p < 4; ++p) {
    {
      float y_vector[8];
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        y_vector[v] = y_values[p * 8 + v];
      }
      tk::store_vector<8>(&y[i * 301056 + j * 5376 + places * 384 + p * 96 + thread % 12 * 8], y_vector);
    }
  }
}

extern "C" int32_t depthwise_bias_relu(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (8, 56, 56, 96)
  auto* const w = static_cast<tk::float16*>(buffers[1]);  // (3, 3, 1, 96)
  auto* const b = static_cast<tk::float16*>(buffers[2]);  // (96)
  auto* const y = static_cast<tk::float16*>(buffers[3]);  // (8, 56, 56, 96)
  if (const int32_t status =
          tk::launch(call, "depthwise_bias_relu_launch0", depthwise_bias_relu_launch0, 294, 256, x, w, b, y)) {
    return status;
  }
  return 0;
}
