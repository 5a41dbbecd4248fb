#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// k00_softmax
//   in  x: float32(n, 40)
//   out y: float32(n, 40)
//   ops: nn.softmax
//   schedule: a row a step
namespace {

struct k00_softmax_i {
  const float* x;
  float* y;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const k00_softmax_i*>(closure);
    const float* __restrict x = self.x;  // (n, 40)
    float* __restrict y = self.y;  // (n, 40)
    for (int64_t i = begin; i < end; ++i) {
      float row_max = -__builtin_inff();
      TK_SIMD_MAX(row_max)
      for (int64_t j = 0; j < 40; ++j) {
        row_max = tk::max<float>(row_max, x[i * 40 + j]);
      }
      float total = 0.0f;
      #pragma omp simd
      for (int64_t j = 0; j < 40; ++j) {
        y[i * 40 + j] = tk::exp(x[i * 40 + j] - row_max);
      }
      #pragma omp simd reduction(+ : total)
      for (int64_t j = 0; j < 40; ++j) {
        total += y[i * 40 + j];
      }
      const float scale = 1.0f / total;
      #pragma omp simd
      for (int64_t j = 0; j < 40; ++j) {
        y[i * 40 + j] *= scale;
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t k00_softmax(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  const int64_t n = dims[0];
  const float* __restrict x = static_cast<const float*>(buffers[0]);  // (n, 40)
  float* __restrict y = static_cast<float*>(buffers[1]);  // (n, 40)
  k00_softmax_i loop{x, y};
  return tessera_parallel_for(call, n, k00_softmax_i::run, &loop);
}
