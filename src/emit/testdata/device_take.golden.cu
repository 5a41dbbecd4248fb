#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// take
//   in  x0: float16(30522, 1024), x1: int64(32, 384)
//   out y: float16(32, 384, 1024)
//   ops: take
extern "C" __global__ void __launch_bounds__(256) take_launch0(
    const tk::float16* x0, const int64_t* x1, tk::float16* __restrict__ y) {
  tk::wait_for_inputs(x0, x1);
  const int32_t i = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  {
    float x0_vector[8];
    tk::load_vector<8>(x0_vector, &x0[tk::max<int64_t>(tk::min<int64_t>(x1[i / 128], 30521), 0) * 1024 + i % 128 * 8]);
    float y_vector[8];
    #pragma unroll
    for (int32_t ki = 0; ki < 8; ++ki) {
      y_vector[ki] = x0_vector[ki];
    }
    tk::store_vector<8>(&y[i * 8], y_vector);
  }
}

extern "C" int32_t take(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (30522, 1024)
  auto* const x1 = static_cast<int64_t*>(buffers[1]);  // (32, 384)
  auto* const y = static_cast<tk::float16*>(buffers[2]);  // (32, 384, 1024)
  if (const int32_t status =
          tk::launch(call, "take_launch0", take_launch0, 6144, 256, x0, x1, y)) {
    return status;
  }
  return 0;
}
