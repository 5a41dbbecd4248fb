#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// k02_mixed
//   in  x: float16(6, 10), w: bfloat16(10), index: int64(6), small: int8(10)
//   out y: float16(6, 10), mask: bool(10), wrapped: int8(10), sums: float32(6),
//     flat: int64(6, 10)
extern "C" int32_t k02_mixed(void* const* buffers, const int64_t*, const tessera_call*) {
  const tk::float16* __restrict x = static_cast<const tk::float16*>(buffers[0]);  // (6, 10)
  const tk::bfloat16* __restrict w = static_cast<const tk::bfloat16*>(buffers[1]);  // (10)
  const int64_t* __restrict index = static_cast<const int64_t*>(buffers[2]);  // (6)
  const int8_t* __restrict small = static_cast<const int8_t*>(buffers[3]);  // (10)
  tk::float16* __restrict y = static_cast<tk::float16*>(buffers[4]);  // (6, 10)
  bool* __restrict mask = static_cast<bool*>(buffers[5]);  // (10)
  int8_t* __restrict wrapped = static_cast<int8_t*>(buffers[6]);  // (10)
  float* __restrict sums = static_cast<float*>(buffers[7]);  // (6)
  int64_t* flat = static_cast<int64_t*>(buffers[8]);  // (6, 10)
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t row = index[i] < 0 ? index[i] + 6 : index[i];
    #pragma omp simd
    for (int64_t j = 0; j < 10; ++j) {
      y[i * 10 + j] = tk::float16(float(x[row * 10 + j]) * 2.5f + float(tk::float16(float(w[j]))));
    }
    sums[i] = 0.0f;
    {
      float sums_acc = sums[i];
      #pragma omp simd reduction(+ : sums_acc)
      for (int64_t j = 0; j < 10; ++j) {
        sums_acc += float(x[i * 10 + j]);
      }
      sums[i] = sums_acc;
    }
  }
  int64_t* view = flat;  // (60)
  #pragma omp simd
  for (int64_t i = 0; i < 60; ++i) {
    view[i] = tk::floor_div<int64_t>(i - 30, 7) * 100 + tk::floor_mod<int64_t>(i - 30, 7) + i / 7 - i % 7;
  }
  for (int64_t i = 0; i < 10; ++i) {
    mask[i] = small[i] == 3 || (!(small[i] < 0) && tk::isnan(float(x[i])));
    wrapped[i] = int8_t(int8_t(int8_t(small[i] + small[i]) ^ 5) * tk::max<int8_t>(small[i], 7));
  }
  int64_t count = 0;
  while (count < 5) {
    if (tk::floor_mod<int64_t>(count, 2) == 0) {
      flat[count] = 1000 + int64_t(tk::sqrt(double(count)));
    } else {
      flat[count + 10] = -count;
    }
    count += 1;
  }
  return 0;
}
