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
  const int32_t places = thread / 24 % 8;
  const int32_t j = thread / 192 % 56;
  const int32_t i = thread / 10752;
  float conv_sums[28];  // (7, 4)
  #pragma unroll
  for (int32_t p = 0; p < 7; ++p) {
    #pragma unroll
    for (int32_t v = 0; v < 4; ++v) {
      conv_sums[p * 4 + v] = 0.0f;
    }
  }
  for (int32_t kh = 0; kh < 3; ++kh) {
    float row[36];  // (9, 4)
    #pragma unroll
    for (int32_t u = 0; u < 9; ++u) {
      {
        float x_vector[4];
        tk::load_vector_if<4>(1 <= j + kh && j + kh - 1 < 56 && 1 <= places * 7 + u && places * 7 + u - 1 < 56, x_vector, &x[i * 301056 + j * 5376 + kh * 5376 + places * 672 + u * 96 + thread % 24 * 4 - 5472]);
        #pragma unroll
        for (int32_t i_1 = 0; i_1 < 4; ++i_1) {
          row[u * 4 + i_1] = x_vector[i_1];
        }
      }
    }
    #pragma unroll
    for (int32_t k = 0; k < 3; ++k) {
      float weights[4];  // (4)
      {
        float w_vector[4];
        tk::load_vector<4>(w_vector, &w[kh * 288 + k * 96 + thread % 24 * 4]);
        #pragma unroll
        for (int32_t c = 0; c < 4; ++c) {
          weights[c] = w_vector[c];
        }
      }
      #pragma unroll
      for (int32_t p = 0; p < 7; ++p) {
        #pragma unroll
        for (int32_t v = 0; v < 4; ++v) {
          conv_sums[p * 4 + v] = conv_sums[p * 4 + v] + row[p * 4 + k * 4 + v] * weights[v];
        }
      }
    }
  }
  float y_values[28];  // (7, 4)
  #pragma unroll
  for (int32_t p = 0; p < 7; ++p) {
    {
      float b_vector[4];
      tk::load_vector<4>(b_vector, &b[thread % 24 * 4]);
      #pragma unroll
      for (int32_t v = 0; v < 4; ++v) {
        y_values[p * 4 + v] = tk::max<float>(float(tk::float16(conv_sums[p * 4 + v])) + b_vector[v], 0.0f);
      }
    }
  }
  #pragma unroll
  for (int32_t p = 0; p < 7; ++p) {
    {
      float y_vector[4];
      #pragma unroll
      for (int32_t v = 0; v < 4; ++v) {
        y_vector[v] = y_values[p * 4 + v];
      }
      tk::store_vector<4>(&y[i * 301056 + j * 5376 + places * 672 + p * 96 + thread % 24 * 4], y_vector);
    }
  }
}

extern "C" int32_t depthwise_bias_relu(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (8, 56, 56, 96)
  auto* const w = static_cast<tk::float16*>(buffers[1]);  // (3, 3, 1, 96)
  auto* const b = static_cast<tk::float16*>(buffers[2]);  // (96)
  auto* const y = static_cast<tk::float16*>(buffers[3]);  // (8, 56, 56, 96)
  if (const int32_t status =
          tk::launch(call, "depthwise_bias_relu_launch0", depthwise_bias_relu_launch0, 336, 256, x, w, b, y)) {
    return status;
  }
  return 0;
}
