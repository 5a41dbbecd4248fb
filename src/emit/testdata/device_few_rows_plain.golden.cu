#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// few_rows_plain
//   in  x0: float16(16, 4096), x1: float16(1000, 4096)
//   out converted: float16(16, 1000)
//   ops: nn.dense
//   schedule: few rows
extern "C" __global__ void __launch_bounds__(512) few_rows_plain_launch0(
    const tk::float16* x0, const tk::float16* x1, tk::float16* __restrict__ converted) {
  const int32_t tile = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  tk::rows_of<4096, tk::float16>{&x1[tile * 65536], static_cast<int>(tile * -16 + 1000)}.prefetch<16>();
  tk::wait_for_inputs(x0, x1);
  __shared__ alignas(16) float product_sums[256];  // (16, 16)
  tk::few_rows<512, 16, 4096>(product_sums, 16, &x0[0],
      tk::rows_of<4096, tk::float16>{&x1[tile * 65536], static_cast<int>(tile * -16 + 1000)});
  tk::block<512>::sync();
  {
    [[maybe_unused]] const int32_t e = rank;
    if (e < 256) {
      const int32_t row_1 = e / 16;
      const int32_t column_1 = tile * 16 + e % 16;
      if (column_1 < 1000) {
        converted[row_1 * 1000 + column_1] = tk::float16(product_sums[e]);
      }
    }
  }
}

extern "C" int32_t few_rows_plain(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (16, 4096)
  auto* const x1 = static_cast<tk::float16*>(buffers[1]);  // (1000, 4096)
  auto* const converted = static_cast<tk::float16*>(buffers[2]);  // (16, 1000)
  if (const int32_t status =
          tk::launch(call, "few_rows_plain_launch0", few_rows_plain_launch0, 63, 512, x0, x1, converted)) {
    return status;
  }
  return 0;
}
