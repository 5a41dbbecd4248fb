// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of 16 bits, several at once where the CPU can (C++): what generated kernels that
// multiply bfloat16 or int16 call besides tessera/kernel_math.h.
#ifndef TESSERA_KERNEL_PRODUCTS_H_
#define TESSERA_KERNEL_PRODUCTS_H_

#include "tessera/kernel_math.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tk {

// acc[l] += a[0] * b[2 l] + a[1] * b[2 l + 1] for each lane l < kLanes. The instruction takes
// subnormal numbers for zero.
template <int kLanes>
TK_INLINE void add_products(float* acc, const bfloat16* a, const bfloat16* b) {
  int done = 0;
#if defined(__AVX512BF16__)
  int32_t pair;
  __builtin_memcpy(&pair, a, sizeof pair);
  const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
  TK_UNROLL(4)
  for (; done + 16 <= kLanes; done += 16) {
    const __m512bh y = (__m512bh)_mm512_loadu_si512(b + 2 * done);
    _mm512_storeu_ps(acc + done, _mm512_dpbf16_ps(_mm512_loadu_ps(acc + done), x, y));
  }
  if constexpr (kLanes % 16 != 0) {
    const __mmask16 rest = (1 << (kLanes % 16)) - 1;
    const __m512bh y = (__m512bh)_mm512_maskz_loadu_epi32(rest, b + 2 * done);
    const __m512 sum = _mm512_maskz_loadu_ps(rest, acc + done);
    _mm512_mask_storeu_ps(acc + done, rest, _mm512_dpbf16_ps(sum, x, y));
    return;
  }
#endif
  for (; done < kLanes; ++done) {
    acc[done] += float(a[0]) * float(b[2 * done]) + float(a[1]) * float(b[2 * done + 1]);
  }
}

#if defined(__AVX512BW__)
TK_INLINE __m512i sum_of_pairs(__m512i sum, __m512i x, __m512i y) {
#if defined(__AVX512VNNI__)
  return _mm512_dpwssd_epi32(sum, x, y);
#else
  return _mm512_add_epi32(sum, _mm512_madd_epi16(x, y));
#endif
}
#endif

// The same of integers; sums wrap.
template <int kLanes>
TK_INLINE void add_products(int32_t* acc, const int16_t* a, const int16_t* b) {
  int done = 0;
#if defined(__AVX2__)
  int32_t pair;
  __builtin_memcpy(&pair, a, sizeof pair);
#endif
#if defined(__AVX512BW__)
  const __m512i x = _mm512_set1_epi32(pair);
  TK_UNROLL(4)
  for (; done + 16 <= kLanes; done += 16) {
    const __m512i y = _mm512_loadu_si512(b + 2 * done), sum = _mm512_loadu_si512(acc + done);
    _mm512_storeu_si512(acc + done, sum_of_pairs(sum, x, y));
  }
  if constexpr (kLanes % 16 != 0) {
    const __mmask16 rest = (1 << (kLanes % 16)) - 1;
    const __m512i y = _mm512_maskz_loadu_epi32(rest, b + 2 * done);
    const __m512i sum = _mm512_maskz_loadu_epi32(rest, acc + done);
    _mm512_mask_storeu_epi32(acc + done, rest, sum_of_pairs(sum, x, y));
    return;
  }
#elif defined(__AVX2__)
  const __m256i x = _mm256_set1_epi32(pair);
  TK_UNROLL(4)
  for (; done + 8 <= kLanes; done += 8) {
    auto* const place = (__m256i_u*)(acc + done);
    const __m256i y = _mm256_loadu_si256((const __m256i_u*)(b + 2 * done));
    _mm256_storeu_si256(place,
                        _mm256_add_epi32(_mm256_loadu_si256(place), _mm256_madd_epi16(x, y)));
  }
#endif
  for (; done < kLanes; ++done) {
    acc[done] = (int32_t)((uint32_t)acc[done] + (uint32_t)(a[0] * b[2 * done]) +
                          (uint32_t)(a[1] * b[2 * done + 1]));
  }
}

}  // namespace tk

#endif  // TESSERA_KERNEL_PRODUCTS_H_
