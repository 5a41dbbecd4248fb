#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// k01_mixed
//   in  x: float32(n, 40), at: int64(64)
//   out picked: float32(64, 40), turned: float32(40, 64), sums: float32(n)
//   ops: take transpose sum
extern "C" __global__ void __launch_bounds__(256) k01_mixed_launch0(
    const float* x, const int64_t* at, float* __restrict__ picked) {
  tk::wait_for_inputs(x, at);
  const int64_t i = int64_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  if (i >= 640) return;
  {
    float x_vector[4];
    tk::load_vector<4>(x_vector, &x[at[i / 10] * 40 + i % 10 * 4]);
    float picked_vector[4];
    #pragma unroll
    for (int64_t v = 0; v < 4; ++v) {
      picked_vector[v] = x_vector[v] * 0.5f;
    }
    tk::store_vector<4>(&picked[i * 4], picked_vector);
  }
}

extern "C" __global__ void __launch_bounds__(256) k01_mixed_launch1(
    const float* picked, float* __restrict__ turned) {
  tk::wait_for_inputs(picked);
  const int32_t tile = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  __shared__ alignas(16) float part[1056];  // (32, 33)
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t t = trip * 256 + rank;
    if (tile / 2 * 32 + t % 32 < 40) {
      part[t % 32 * 33 + t / 32] = picked[tile % 2 * 1280 + t / 32 * 40 + tile / 2 * 32 + t % 32];
    }
  }
  tk::block<256>::sync();
  #pragma unroll
  for (int32_t trip = 0; trip < 4; ++trip) {
    [[maybe_unused]] const int32_t t = trip * 256 + rank;
    if (tile / 2 * 32 + t / 32 < 40) {
      turned[tile / 2 * 2048 + t / 32 * 64 + tile % 2 * 32 + t % 32] = tk::erf(part[t / 32 * 33 + t % 32]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(64) k01_mixed_launch2(
    const float* x, float* __restrict__ sums, const int64_t n) {
  tk::wait_for_inputs(x);
  const int64_t i = int64_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  if (i >= n) return;
  float total;
  total = 0.0f;
  {
    float total_part = 0.0f;
    {
      [[maybe_unused]] const int64_t j = rank;
      if (j < 40) {
        total_part = total_part + x[i * 40 + j];
      }
    }
    total = tk::add::apply(total, tk::block<64>::reduce<tk::add>(total_part));
  }
  if (rank == 0) sums[i] = total;
}

extern "C" int32_t k01_mixed(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  auto* const x = static_cast<float*>(buffers[0]);  // (n, 40)
  auto* const at = static_cast<int64_t*>(buffers[1]);  // (64)
  auto* const picked = static_cast<float*>(buffers[2]);  // (64, 40)
  auto* const turned = static_cast<float*>(buffers[3]);  // (40, 64)
  auto* const sums = static_cast<float*>(buffers[4]);  // (n)
  [[maybe_unused]] const int64_t n = dims[0];
  if (const int32_t status =
          tk::launch(call, "k01_mixed_launch0", k01_mixed_launch0, 3, 256, x, at, picked)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "k01_mixed_launch1", k01_mixed_launch1, 4, 256, picked, turned)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "k01_mixed_launch2", k01_mixed_launch2, n, 64, x, sums, n)) {
    return status;
  }
  return 0;
}
