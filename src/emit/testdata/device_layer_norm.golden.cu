#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// layer_norm
//   in  x0: float16(12288, 1024), x1: float16(1024), x2: float16(1024)
//   out normalized: float16(12288, 1024)
//   ops: nn.layer_norm
//   schedule: rows
extern "C" __global__ void __launch_bounds__(128) layer_norm_launch0(
    const tk::float16* x0, const tk::float16* x1, const tk::float16* x2,
    tk::float16* __restrict__ normalized) {
  tk::wait_for_inputs(x0, x1, x2);
  const int32_t row = int32_t(blockIdx.x) * 4 + int32_t(threadIdx.x) / 32;
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x) % 32;
  float total;
  float squares;
  float x0_row[32];  // each thread's part of (128, 8)
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t j = trip * 32 + rank;
    {
      float x0_vector[8];
      tk::load_vector<8>(x0_vector, &x0[row * 1024 + j * 8]);
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        x0_row[trip * 8 + v] = x0_vector[v];
      }
    }
  }
  total = 0.0f;
  {
    float total_part = 0.0f;
    #pragma unroll
    for (int32_t trip = 0; trip < 4; ++trip) {
      [[maybe_unused]] const int32_t j = trip * 32 + rank;
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        total_part = total_part + x0_row[trip * 8 + v];
      }
    }
    total = tk::add::apply(total, tk::warp::reduce<tk::add>(total_part));
  }
  squares = 0.0f;
  {
    float squares_part = 0.0f;
    #pragma unroll
    for (int32_t trip = 0; trip < 4; ++trip) {
      [[maybe_unused]] const int32_t j = trip * 32 + rank;
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        squares_part = squares_part + (x0_row[trip * 8 + v] - total * 0.0009765625f) * (x0_row[trip * 8 + v] - total * 0.0009765625f);
      }
    }
    squares = tk::add::apply(squares, tk::warp::reduce<tk::add>(squares_part));
  }
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t j = trip * 32 + rank;
    {
      float x1_vector[8];
      tk::load_vector<8>(x1_vector, &x1[j * 8]);
      float x2_vector[8];
      tk::load_vector<8>(x2_vector, &x2[j * 8]);
      float normalized_vector[8];
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        normalized_vector[v] = float(tk::float16(tk::div_half(x0_row[trip * 8 + v] - total * 0.0009765625f, tk::sqrt(squares * 0.0009765625f + 1e-05f)) * x1_vector[v] + x2_vector[v]));
      }
      tk::store_vector<8>(&normalized[row * 1024 + j * 8], normalized_vector);
    }
  }
}

extern "C" int32_t layer_norm(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (12288, 1024)
  auto* const x1 = static_cast<tk::float16*>(buffers[1]);  // (1024)
  auto* const x2 = static_cast<tk::float16*>(buffers[2]);  // (1024)
  auto* const normalized = static_cast<tk::float16*>(buffers[3]);  // (12288, 1024)
  if (const int32_t status =
          tk::launch(call, "layer_norm_launch0", layer_norm_launch0, 3072, 128, x0, x1, x2, normalized)) {
    return status;
  }
  return 0;
}
