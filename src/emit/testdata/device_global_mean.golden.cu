#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// global_mean
//   in  x0: float16(32, 56, 56, 144)
//   out y: float16(32, 144)
//   ops: mean
//   schedule: rows
extern "C" __global__ void __launch_bounds__(256) global_mean_launch0(
    const tk::float16* x0, tk::float16* __restrict__ y) {
  tk::wait_for_inputs(x0);
  const int32_t block = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  float total_sum;
  float total_sum_1;
  float total_sum_2;
  float total_sum_3;
  float total_sum_4;
  float total_sum_5;
  float total_sum_6;
  float total_sum_7;
  total_sum_7 = 0.0f;
  total_sum_6 = 0.0f;
  total_sum_5 = 0.0f;
  total_sum_4 = 0.0f;
  total_sum_3 = 0.0f;
  total_sum_2 = 0.0f;
  total_sum_1 = 0.0f;
  total_sum = 0.0f;
  {
    float total_sum_7_part = 0.0f;
    float total_sum_6_part = 0.0f;
    float total_sum_5_part = 0.0f;
    float total_sum_4_part = 0.0f;
    float total_sum_3_part = 0.0f;
    float total_sum_2_part = 0.0f;
    float total_sum_1_part = 0.0f;
    float total_sum_part = 0.0f;
    #pragma unroll
    for (int32_t trip = 0; trip < 13; ++trip) {
      [[maybe_unused]] const int32_t t = trip * 256 + rank;
      if (t < 3136) {
        float terms[8];  // (8)
        {
          float x0_vector[8];
          tk::load_vector<8>(x0_vector, &x0[block / 18 * 451584 + t * 144 + block % 18 * 8]);
          #pragma unroll
          for (int32_t v = 0; v < 8; ++v) {
            terms[v] = x0_vector[v];
          }
        }
        total_sum_7_part = total_sum_7_part + terms[0];
        total_sum_6_part = total_sum_6_part + terms[1];
        total_sum_5_part = total_sum_5_part + terms[2];
        total_sum_4_part = total_sum_4_part + terms[3];
        total_sum_3_part = total_sum_3_part + terms[4];
        total_sum_2_part = total_sum_2_part + terms[5];
        total_sum_1_part = total_sum_1_part + terms[6];
        total_sum_part = total_sum_part + terms[7];
      }
    }
    total_sum_7 = tk::add::apply(total_sum_7, tk::block<256>::reduce<tk::add>(total_sum_7_part));
    total_sum_6 = tk::add::apply(total_sum_6, tk::block<256>::reduce<tk::add>(total_sum_6_part));
    total_sum_5 = tk::add::apply(total_sum_5, tk::block<256>::reduce<tk::add>(total_sum_5_part));
    total_sum_4 = tk::add::apply(total_sum_4, tk::block<256>::reduce<tk::add>(total_sum_4_part));
    total_sum_3 = tk::add::apply(total_sum_3, tk::block<256>::reduce<tk::add>(total_sum_3_part));
    total_sum_2 = tk::add::apply(total_sum_2, tk::block<256>::reduce<tk::add>(total_sum_2_part));
    total_sum_1 = tk::add::apply(total_sum_1, tk::block<256>::reduce<tk::add>(total_sum_1_part));
    total_sum = tk::add::apply(total_sum, tk::block<256>::reduce<tk::add>(total_sum_part));
  }
  if (rank == 0) y[block * 8] = tk::float16(tk::div_half(total_sum_7, 3136.0f));
  tk::block<256>::sync();
  if (rank == 0) y[block * 8 + 1] = tk::float16(tk::div_half(total_sum_6, 3136.0f));
  tk::block<256>::sync();
  if (rank == 0) y[block * 8 + 2] = tk::float16(tk::div_half(total_sum_5, 3136.0f));
  tk::block<256>::sync();
  if (rank == 0) y[block * 8 + 3] = tk::float16(tk::div_half(total_sum_4, 3136.0f));
  tk::block<256>::sync();
  if (rank == 0) y[block * 8 + 4] = tk::float16(tk::div_half(total_sum_3, 3136.0f));
  tk::block<256>::sync();
  if (rank == 0) y[block * 8 + 5] = tk::float16(tk::div_half(total_sum_2, 3136.0f));
  tk::block<256>::sync();
  if (rank == 0) y[block * 8 + 6] = tk::float16(tk::div_half(total_sum_1, 3136.0f));
  tk::block<256>::sync();
  if (rank == 0) y[block * 8 + 7] = tk::float16(tk::div_half(total_sum, 3136.0f));
}

extern "C" int32_t global_mean(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (32, 56, 56, 144)
  auto* const y = static_cast<tk::float16*>(buffers[1]);  // (32, 144)
  if (const int32_t status =
          tk::launch(call, "global_mean_launch0", global_mean_launch0, 576, 256, x0, y)) {
    return status;
  }
  return 0;
}
