#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// open_reshape
//   in  x: float32(n, h, w)
//   out y: float32(n, w, h)
namespace {

struct open_reshape_i {
  int64_t w;
  int64_t h;
  float* y;
  const float* x;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const open_reshape_i*>(closure);
    const int64_t w = self.w;
    const int64_t h = self.h;
    float* __restrict y = self.y;  // (n, w, h)
    const float* __restrict x = self.x;  // (n, h, w)
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < w; ++j) {
        #pragma omp simd
        for (int64_t k = 0; k < h; ++k) {
          y[i * (h * w) + j * h + k] = x[i * (w * h) + j * h + k];
        }
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t open_reshape(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  const int64_t n = dims[0];
  const int64_t h = dims[1];
  const int64_t w = dims[2];
  const float* __restrict x = static_cast<const float*>(buffers[0]);  // (n, h, w)
  float* __restrict y = static_cast<float*>(buffers[1]);  // (n, w, h)
  open_reshape_i loop{w, h, y, x};
  return tessera_parallel_for(call, n, open_reshape_i::run, &loop);
}
