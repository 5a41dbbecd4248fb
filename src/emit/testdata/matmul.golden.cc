#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// k01_matmul_gelu
//   in  a: float32(12, 20), b: float32(20, 32), bias: float32(32)
//   out y: float32(12, 32)
//   ops: nn.dense, add, nn.gelu
//   schedule: tile 4 x 16
namespace {

struct k01_matmul_gelu_t {
  const float* bias;
  const float* a;
  const float* b;
  float* y;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const k01_matmul_gelu_t*>(closure);
    const float* __restrict bias = self.bias;  // (32)
    const float* __restrict a = self.a;  // (12, 20)
    const float* __restrict b = self.b;  // (20, 32)
    float* __restrict y = self.y;  // (12, 32)
    for (int64_t t = begin; t < end; ++t) {
      alignas(64) float acc[64];  // (4, 16)
      TK_UNROLL(4)
      for (int64_t i = 0; i < 4; ++i) {
        #pragma omp simd
        for (int64_t j = 0; j < 16; ++j) {
          acc[i * 16 + j] = bias[t % 2 * 16 + j];
        }
      }
      for (int64_t k = 0; k < 20; ++k) {
        TK_UNROLL(4)
        for (int64_t i = 0; i < 4; ++i) {
          #pragma omp simd
          for (int64_t j = 0; j < 16; ++j) {
            acc[i * 16 + j] += a[t / 2 * 80 + i * 20 + k] * b[k * 32 + t % 2 * 16 + j];
          }
        }
      }
      TK_UNROLL(4)
      for (int64_t i = 0; i < 4; ++i) {
        #pragma omp simd
        for (int64_t j = 0; j < 16; ++j) {
          y[t / 2 * 128 + i * 32 + t % 2 * 16 + j] = acc[i * 16 + j] * 0.5f * (1.0f + tk::erf(acc[i * 16 + j] * 0.70710677f));
        }
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t k01_matmul_gelu(void* const* buffers, const int64_t*, const tessera_call* call) {
  const float* __restrict a = static_cast<const float*>(buffers[0]);  // (12, 20)
  const float* __restrict b = static_cast<const float*>(buffers[1]);  // (20, 32)
  const float* __restrict bias = static_cast<const float*>(buffers[2]);  // (32)
  float* __restrict y = static_cast<float*>(buffers[3]);  // (12, 32)
  k01_matmul_gelu_t loop{bias, a, b, y};
  return tessera_parallel_for(call, 6, k01_matmul_gelu_t::run, &loop);
}
