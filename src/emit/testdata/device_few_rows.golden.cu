#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// few_rows
//   in  x0: float16(1, 4096), x1: int32(896, 64, 128), x2: bfloat16(896, 32, 16)
//   out converted: float16(1, 14336)
//   ops: qnn.dense_fragments
//   schedule: few rows
extern "C" __global__ void __launch_bounds__(256) few_rows_launch0(
    const tk::float16* x0, const int32_t* x1, const tk::bfloat16* x2,
    tk::float16* __restrict__ converted) {
  const int64_t tile = int64_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  tk::words<4, 128, 4096, tk::bfloat16, tk::centred>{&x1[tile * 32768], &x2[tile * 2048], {}}.prefetch<64>();
  tk::wait_for_inputs(x0, x1, x2);
  __shared__ alignas(16) float product_sums[1024];  // (16, 64)
  tk::few_rows<256, 64, 4096>(product_sums, 1, &x0[0],
      tk::words<4, 128, 4096, tk::bfloat16, tk::centred>{&x1[tile * 32768], &x2[tile * 2048], {}});
  tk::block<256>::sync();
  {
    [[maybe_unused]] const int64_t e = rank;
    if (e < 64) {
      const int64_t column_1 = tile * 64 + e;
      converted[column_1] = tk::float16(product_sums[e]);
    }
  }
}

extern "C" int32_t few_rows(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (1, 4096)
  auto* const x1 = static_cast<int32_t*>(buffers[1]);  // (896, 64, 128)
  auto* const x2 = static_cast<tk::bfloat16*>(buffers[2]);  // (896, 32, 16)
  auto* const converted = static_cast<tk::float16*>(buffers[3]);  // (1, 14336)
  if (const int32_t status =
          tk::launch(call, "few_rows_launch0", few_rows_launch0, 224, 256, x0, x1, x2, converted)) {
    return status;
  }
  return 0;
}
