#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// k03_guards
//   in  a: float32(2, 2), b: float32(2, 2)
//   out joined: float32(2, 4), padded: float32(2, 4), positive: bool(2, 4),
//     some: float32(2, 3), halves: float32(2, 32)
namespace {

struct k03_guards_i {
  float* joined;
  const float* a;
  const float* b;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const k03_guards_i*>(closure);
    float* __restrict joined = self.joined;  // (2, 4)
    const float* __restrict a = self.a;  // (2, 2)
    const float* __restrict b = self.b;  // (2, 2)
    const int64_t zero = tk::hidden_zero();
    for (int64_t i = begin; i < end; ++i) {
      #pragma omp simd
      for (int64_t j = 0; j < 4; ++j) {
        joined[i * 4 + j] = j < zero + 2 ? a[i * 2 + j] : b[i * 2 + j - 2];
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t k03_guards(void* const* buffers, const int64_t*, const tessera_call* call) {
  const float* __restrict a = static_cast<const float*>(buffers[0]);  // (2, 2)
  const float* __restrict b = static_cast<const float*>(buffers[1]);  // (2, 2)
  float* __restrict joined = static_cast<float*>(buffers[2]);  // (2, 4)
  float* __restrict padded = static_cast<float*>(buffers[3]);  // (2, 4)
  bool* __restrict positive = static_cast<bool*>(buffers[4]);  // (2, 4)
  float* __restrict some = static_cast<float*>(buffers[5]);  // (2, 3)
  float* __restrict halves = static_cast<float*>(buffers[6]);  // (2, 32)
  const int64_t zero = tk::hidden_zero();
  {
    k03_guards_i loop{joined, a, b};
    if (const int32_t status = tessera_parallel_for(call, 2, k03_guards_i::run, &loop); status != 0) return status;
  }
  for (int64_t i = 0; i < 2; ++i) {
    #pragma omp simd
    for (int64_t j = 0; j < 4; ++j) {
      padded[i * 4 + j] = tk::is_inside(j - 1, zero + 2) ? a[i * 2 + j - 1] : 0.0f;
      positive[i * 4 + j] = j < zero + 2 && 0.0f < a[i * 2 + j];
    }
    #pragma omp simd
    for (int64_t j = 0; j < 4; ++j) {
      if (j < zero + 3) {
        some[i * 3 + j] = joined[i * 4 + j];
      }
    }
    #pragma omp simd
    for (int64_t j = 0; j < 32; ++j) {
      halves[i * 32 + j] = j < 16 ? float(j) : a[i * 2 + j % 2];
    }
  }
  return 0;
}
