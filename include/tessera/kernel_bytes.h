// SPDX-License-Identifier: Apache-2.0
//
// Bytes out of a table, 64 at once where the CPU can (C++): what generated kernels that look up
// bytes call besides tessera/kernel_math.h.
#ifndef TESSERA_KERNEL_BYTES_H_
#define TESSERA_KERNEL_BYTES_H_

#include "tessera/kernel_math.h"

#if defined(__AVX512VBMI__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace tk {

// y[l] = table[x[l] - least] for each l < lanes, least the smallest number of X. y may be x.
template <class Y, class X>
TK_INLINE void map_bytes(Y* y, const X* x, const Y* table, int64_t lanes) {
  static_assert(sizeof(X) == 1 && sizeof(Y) == 1, "bytes");
  constexpr uint8_t kSign = X(-1) < X(0) ? 0x80 : 0;  // entries are counted from the least one
  int64_t done = 0;
#if defined(__AVX512VBMI__) && defined(__AVX512BW__)
  const __m512i sign = _mm512_set1_epi8((char)kSign);
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64),
                t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  for (; done < lanes; done += 64) {
    const int64_t left = lanes - done;
    const __mmask64 some = left < 64 ? ((uint64_t)1 << left) - 1 : ~(uint64_t)0;
    const __m512i i = _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, x + done), sign);
    const __m512i below = _mm512_permutex2var_epi8(t0, i, t1),
                  above = _mm512_permutex2var_epi8(t2, i, t3);
    _mm512_mask_storeu_epi8(y + done, some,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(i), below, above));
  }
#endif
  for (; done < lanes; ++done) y[done] = table[uint8_t(uint8_t(x[done]) ^ kSign)];
}

}  // namespace tk

#endif  // TESSERA_KERNEL_BYTES_H_
