#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"
#include "tessera/kernel_products.h"

// k02_dense
//   in  a: bfloat16(6, 40), b: bfloat16(20, 33, 2), c: int16(4, 6), d: int16(3, 24, 2)
//   out y: float32(6, 33), z: int32(4, 24)
//   ops: nn.dense
extern "C" int32_t k02_dense(void* const* buffers, const int64_t*, const tessera_call*) {
  const tk::bfloat16* __restrict a = static_cast<const tk::bfloat16*>(buffers[0]);  // (6, 40)
  const tk::bfloat16* __restrict b = static_cast<const tk::bfloat16*>(buffers[1]);  // (20, 33, 2)
  const int16_t* __restrict c = static_cast<const int16_t*>(buffers[2]);  // (4, 6)
  const int16_t* __restrict d = static_cast<const int16_t*>(buffers[3]);  // (3, 24, 2)
  float* __restrict y = static_cast<float*>(buffers[4]);  // (6, 33)
  int32_t* __restrict z = static_cast<int32_t*>(buffers[5]);  // (4, 24)
  for (int64_t t = 0; t < 2; ++t) {
    alignas(64) float acc[99];  // (3, 33)
    TK_UNROLL(3)
    for (int64_t i = 0; i < 3; ++i) {
      #pragma omp simd
      for (int64_t j = 0; j < 33; ++j) {
        acc[i * 33 + j] = 0.0f;
      }
    }
    for (int64_t k = 0; k < 20; ++k) {
      TK_UNROLL(3)
      for (int64_t i = 0; i < 3; ++i) {
        tk::add_products<33>(&acc[i * 33], &a[t * 120 + i * 40 + k * 2], &b[k * 66]);
      }
    }
    TK_UNROLL(3)
    for (int64_t i = 0; i < 3; ++i) {
      #pragma omp simd
      for (int64_t j = 0; j < 33; ++j) {
        y[t * 99 + i * 33 + j] = acc[i * 33 + j];
      }
    }
  }
  for (int64_t i = 0; i < 4; ++i) {
    alignas(64) int32_t sums[24];  // (24)
    #pragma omp simd
    for (int64_t j = 0; j < 24; ++j) {
      sums[j] = 0;
    }
    for (int64_t k = 0; k < 3; ++k) {
      tk::add_products<24>(&sums[0], &c[i * 6 + k * 2], &d[k * 48]);
    }
    #pragma omp simd
    for (int64_t j = 0; j < 24; ++j) {
      z[i * 24 + j] = sums[j];
    }
  }
  return 0;
}
