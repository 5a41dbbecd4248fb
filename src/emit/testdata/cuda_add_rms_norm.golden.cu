#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// k00_add_rms_norm
//   in  x: float16(12288, 1024), b: float16(1024), r: float16(12288, 1024), g: float16(1024)
//   out normalized: float16(12288, 1024)
//   ops: add add nn.rms_norm
//   schedule: rows
extern "C" __global__ void __launch_bounds__(128) k00_add_rms_norm_launch0(
    const tk::float16* x, const tk::float16* b, const tk::float16* r, const tk::float16* g,
    tk::float16* __restrict__ normalized) {
  tk::wait_for_inputs(x, b, r, g);
  const int32_t row = int32_t(blockIdx.x) * 4 + int32_t(threadIdx.x) / 32;
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x) % 32;
  float squares;
  float x_row[32];  // each thread's part of (128, 8)
  float r_row[32];  // each thread's part of (128, 8)
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t j = trip * 32 + rank;
    {
      float x_vector[8];
      tk::load_vector<8>(x_vector, &x[row * 1024 + j * 8]);
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        x_row[trip * 8 + v] = x_vector[v];
      }
    }
  }
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t j = trip * 32 + rank;
    {
      float r_vector[8];
      tk::load_vector<8>(r_vector, &r[row * 1024 + j * 8]);
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        r_row[trip * 8 + v] = r_vector[v];
      }
    }
  }
  squares = 0.0f;
  {
    float squares_part = 0.0f;
    #pragma unroll
    for (int32_t trip = 0; trip < 4; ++trip) {
      [[maybe_unused]] const int32_t j = trip * 32 + rank;
      {
        float b_vector[8];
        tk::load_vector<8>(b_vector, &b[j * 8]);
        #pragma unroll
        for (int32_t v = 0; v < 8; ++v) {
          const float y = x_row[trip * 8 + v] + b_vector[v] + r_row[trip * 8 + v];
          squares_part = squares_part + y * y;
        }
      }
    }
    squares = tk::add::apply(squares, tk::warp::reduce<tk::add>(squares_part));
  }
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t j = trip * 32 + rank;
    {
      float b_vector_1[8];
      tk::load_vector<8>(b_vector_1, &b[j * 8]);
      float g_vector[8];
      tk::load_vector<8>(g_vector, &g[j * 8]);
      float normalized_vector[8];
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        normalized_vector[v] = float(tk::float16(tk::div_half(x_row[trip * 8 + v] + b_vector_1[v] + r_row[trip * 8 + v], tk::sqrt(squares * 0.0009765625f + 1e-05f)) * g_vector[v]));
      }
      tk::store_vector<8>(&normalized[row * 1024 + j * 8], normalized_vector);
    }
  }
}

extern "C" int32_t k00_add_rms_norm(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (12288, 1024)
  auto* const b = static_cast<tk::float16*>(buffers[1]);  // (1024)
  auto* const r = static_cast<tk::float16*>(buffers[2]);  // (12288, 1024)
  auto* const g = static_cast<tk::float16*>(buffers[3]);  // (1024)
  auto* const normalized = static_cast<tk::float16*>(buffers[4]);  // (12288, 1024)
  if (const int32_t status =
          tk::launch(call, "k00_add_rms_norm_launch0", k00_add_rms_norm_launch0, 3072, 128, x, b, r, g, normalized)) {
    return status;
  }
  return 0;
}
