#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// k05_requantize
//   in  p0: uint8(4, 64), p1: float32(64)
//   out y: float32(4, 64)
namespace {

struct k05_requantize_i {
  float* y;
  const float* p1;
  const uint8_t* p0;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const k05_requantize_i*>(closure);
    float* __restrict y = self.y;  // (4, 64)
    const float* __restrict p1 = self.p1;  // (64)
    const uint8_t* __restrict p0 = self.p0;  // (4, 64)
    for (int64_t i = begin; i < end; ++i) {
      #pragma omp simd
      for (int64_t j = 0; j < 64; ++j) {
        y[i * 64 + j] = float(uint8_t(tk::min<float>(tk::max<float>(tk::rint((float(uint8_t(tk::min<float>(tk::max<float>(tk::rint((float(uint8_t(tk::min<float>(tk::max<float>(tk::rint((p1[j] + (float(p0[i * 64 + j]) - 126.0f) * 0.03275675f) / 0.033162065f) + 125.0f, 0.0f), 255.0f))) - 125.0f) * 0.25f / 0.033162065f) + 125.0f, 0.0f), 255.0f))) - 125.0f) * 0.4204482f / 0.013942931f) + 125.0f, 0.0f), 255.0f)));
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t k05_requantize(void* const* buffers, const int64_t*, const tessera_call* call) {
  const uint8_t* __restrict p0 = static_cast<const uint8_t*>(buffers[0]);  // (4, 64)
  const float* __restrict p1 = static_cast<const float*>(buffers[1]);  // (64)
  float* __restrict y = static_cast<float*>(buffers[2]);  // (4, 64)
  k05_requantize_i loop{y, p1, p0};
  return tessera_parallel_for(call, 4, k05_requantize_i::run, &loop);
}
