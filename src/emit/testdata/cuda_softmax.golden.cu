#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// k00_softmax
//   in  x: float16(2048, 768)
//   out y: float16(2048, 768)
//   ops: nn.softmax
//   schedule: a row a warp
extern "C" __global__ void __launch_bounds__(128) k00_softmax_launch0(
    const tk::float16* x, tk::float16* __restrict__ y) {
  tk::wait_for_inputs(x);
  const int32_t i = int32_t(blockIdx.x) * 4 + int32_t(threadIdx.x) / 32;
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x) % 32;
  float row[24];  // each thread's part of (96, 8)
  #pragma unroll
  for (int32_t trip = 0; trip < 3; ++trip) {
    [[maybe_unused]] const int32_t j = trip * 32 + rank;
    {
      float x_vector[8];
      tk::load_vector<8>(x_vector, &x[i * 768 + j * 8]);
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        row[trip * 8 + v] = x_vector[v];
      }
    }
  }
  float row_max;
  row_max = -__builtin_inff();
  {
    float row_max_part = -__builtin_inff();
    #pragma unroll
    for (int32_t trip = 0; trip < 3; ++trip) {
      [[maybe_unused]] const int32_t j = trip * 32 + rank;
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        row_max_part = tk::max<float>(row_max_part, row[trip * 8 + v]);
      }
    }
    row_max = tk::greatest::apply(row_max, tk::warp::reduce<tk::greatest>(row_max_part));
  }
  float total;
  total = 0.0f;
  {
    float total_part = 0.0f;
    #pragma unroll
    for (int32_t trip = 0; trip < 3; ++trip) {
      [[maybe_unused]] const int32_t j = trip * 32 + rank;
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        total_part = total_part + tk::exp_half(row[trip * 8 + v] - row_max);
      }
    }
    total = tk::add::apply(total, tk::warp::reduce<tk::add>(total_part));
  }
  #pragma unroll
  for (int32_t trip = 0; trip < 3; ++trip) {
    [[maybe_unused]] const int32_t j = trip * 32 + rank;
    {
      float y_vector[8];
      #pragma unroll
      for (int32_t v = 0; v < 8; ++v) {
        y_vector[v] = float(tk::float16(tk::div_half(tk::exp_half(row[trip * 8 + v] - row_max), total)));
      }
      tk::store_vector<8>(&y[i * 768 + j * 8], y_vector);
    }
  }
}

extern "C" int32_t k00_softmax(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (2048, 768)
  auto* const y = static_cast<tk::float16*>(buffers[1]);  // (2048, 768)
  if (const int32_t status =
          tk::launch(call, "k00_softmax_launch0", k00_softmax_launch0, 512, 128, x, y)) {
    return status;
  }
  return 0;
}
