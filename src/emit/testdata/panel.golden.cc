#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// k02_conv2d
//   in  w: float32(4, 24), x: float32(24, 48)
//   out y: float32(4, 48)
//   ops: nn.conv2d
//   schedule: tile 4x16, panel on the stack
namespace {

struct k02_conv2d_t {
  const float* x;
  const float* w;
  float* y;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const k02_conv2d_t*>(closure);
    const float* __restrict x = self.x;  // (24, 48)
    const float* __restrict w = self.w;  // (4, 24)
    float* __restrict y = self.y;  // (4, 48)
    for (int64_t t = begin; t < end; ++t) {
      alignas(64) float panel_array[384];  // (24, 16)
      float* const __restrict panel = panel_array;
      for (int64_t k = 0; k < 24; ++k) {
        #pragma omp simd
        for (int64_t j = 0; j < 16; ++j) {
          panel[k * 16 + j] = x[k * 48 + t * 16 + j];
        }
      }
      alignas(64) float acc[64];  // (4, 16)
      TK_UNROLL(4)
      for (int64_t i = 0; i < 4; ++i) {
        #pragma omp simd
        for (int64_t j = 0; j < 16; ++j) {
          acc[i * 16 + j] = 0.0f;
        }
      }
      for (int64_t k = 0; k < 24; ++k) {
        TK_UNROLL(4)
        for (int64_t i = 0; i < 4; ++i) {
          #pragma omp simd
          for (int64_t j = 0; j < 16; ++j) {
            acc[i * 16 + j] += w[i * 24 + k] * panel[k * 16 + j];
          }
        }
      }
      TK_UNROLL(4)
      for (int64_t i = 0; i < 4; ++i) {
        #pragma omp simd
        for (int64_t j = 0; j < 16; ++j) {
          y[i * 48 + t * 16 + j] = acc[i * 16 + j];
        }
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t k02_conv2d(void* const* buffers, const int64_t*, const tessera_call* call) {
  const float* __restrict w = static_cast<const float*>(buffers[0]);  // (4, 24)
  const float* __restrict x = static_cast<const float*>(buffers[1]);  // (24, 48)
  float* __restrict y = static_cast<float*>(buffers[2]);  // (4, 48)
  k02_conv2d_t loop{x, w, y};
  return tessera_parallel_for(call, 3, k02_conv2d_t::run, &loop);
}
