#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// few_rows_open
//   in  x: float16(n, 256), w: int32(5, 4, 128), s: float16(5, 2, 16)
//   out converted: float16(n, 80)
//   ops: qnn.dense_fragments
//   schedule: few rows
extern "C" __global__ void __launch_bounds__(256) few_rows_open_launch0(
    const tk::float16* x, const int32_t* w, const tk::float16* s,
    tk::float16* __restrict__ converted, const int64_t n) {
  const int64_t tile = int64_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  if (tile >= (n + 15) / 16 * 5) return;
  tk::words<4, 128, 256, tk::float16, tk::centred>{&w[tk::trunc_div<int64_t>(tile, (n + 15) / 16) * 512], &s[tk::trunc_div<int64_t>(tile, (n + 15) / 16) * 32], {}}.prefetch<16>();
  tk::wait_for_inputs(x, w, s);
  __shared__ alignas(16) float product_sums[256];  // (16, 16)
  tk::few_rows<256, 16, 256>(product_sums, tk::min<int64_t>(n - tk::floor_mod<int64_t>(tile, (n + 15) / 16) * 16, 16), &x[tk::floor_mod<int64_t>(tile, (n + 15) / 16) * 4096],
      tk::words<4, 128, 256, tk::float16, tk::centred>{&w[tk::trunc_div<int64_t>(tile, (n + 15) / 16) * 512], &s[tk::trunc_div<int64_t>(tile, (n + 15) / 16) * 32], {}});
  tk::block<256>::sync();
  for (int64_t e = rank; e < tk::min<int64_t>(n - tk::floor_mod<int64_t>(tile, (n + 15) / 16) * 16, 16) * 16; e += 256) {
    const int64_t row_1 = tk::floor_mod<int64_t>(tile, (n + 15) / 16) * 16 + e / 16;
    const int64_t column_1 = tk::trunc_div<int64_t>(tile, (n + 15) / 16) * 16 + e % 16;
    converted[row_1 * 80 + column_1] = tk::float16(product_sums[e]);
  }
}

extern "C" int32_t few_rows_open(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (n, 256)
  auto* const w = static_cast<int32_t*>(buffers[1]);  // (5, 4, 128)
  auto* const s = static_cast<tk::float16*>(buffers[2]);  // (5, 2, 16)
  auto* const converted = static_cast<tk::float16*>(buffers[3]);  // (n, 80)
  [[maybe_unused]] const int64_t n = dims[0];
  if (const int32_t status =
          tk::launch(call, "few_rows_open_launch0", few_rows_open_launch0, (n + 15) / 16 * 5, 256, x, w, s, converted, n)) {
    return status;
  }
  return 0;
}
