#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// concatenate_of_taken
//   in  a: float16(128, 512), t: float16(1000, 512), i: int64(384)
//   out y: float16(512, 512)
//   ops: nn.relu take concatenate
extern "C" __global__ void __launch_bounds__(256) concatenate_of_taken_launch0(
    const tk::float16* a, const tk::float16* t, const int64_t* i, tk::float16* __restrict__ y) {
  tk::wait_for_inputs(a, t, i);
  const int32_t i_1 = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  {
    float a_vector[8];
    tk::load_vector_if<8>(i_1 / 64 < 128, a_vector, &a[i_1 * 8]);
    float t_vector[8];
    tk::load_vector_if<8>(!(i_1 / 64 < 128), t_vector, !(i_1 / 64 < 128) ? &t[tk::max<int64_t>(tk::min<int64_t>(i[i_1 / 64 - 128], 999), 0) * 512 + i_1 % 64 * 8] : nullptr);
    float y_vector[8];
    #pragma unroll
    for (int32_t ji = 0; ji < 8; ++ji) {
      y_vector[ji] = i_1 / 64 < 128 ? tk::max<float>(a_vector[ji], 0.0f) : t_vector[ji];
    }
    tk::store_vector<8>(&y[i_1 * 8], y_vector);
  }
}

extern "C" int32_t concatenate_of_taken(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const a = static_cast<tk::float16*>(buffers[0]);  // (128, 512)
  auto* const t = static_cast<tk::float16*>(buffers[1]);  // (1000, 512)
  auto* const i = static_cast<int64_t*>(buffers[2]);  // (384)
  auto* const y = static_cast<tk::float16*>(buffers[3]);  // (512, 512)
  if (const int32_t status =
          tk::launch(call, "concatenate_of_taken_launch0", concatenate_of_taken_launch0, 128, 256, a, t, i, y)) {
    return status;
  }
  return 0;
}
