// SPDX-License-Identifier: Apache-2.0
#include "support/f16.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tessera {
namespace {

#if defined(__x86_64__)
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  // The second asks whether the system keeps the wide registers.
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
         __builtin_cpu_supports("avx");
}

// Rounds as float16_bits does, NaN and subnormal numbers included; gives back how many it took.
__attribute__((target("avx,f16c"))) std::size_t narrow_eights(std::span<const float> values,
                                                              std::uint16_t* out) {
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    const __m128i bits =
        _mm256_cvtps_ph(_mm256_loadu_ps(values.data() + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), bits);
  }
  return i;
}
#endif

}  // namespace

void to_float16(std::span<const float> values, std::uint16_t* out) {
  std::size_t done = 0;
#if defined(__x86_64__)
  static const bool is_quick = has_f16c();
  if (is_quick) done = narrow_eights(values, out);
#endif
  std::transform(values.begin() + static_cast<std::ptrdiff_t>(done), values.end(), out + done,
                 [](float v) { return float16_bits(v); });
}

void to_bfloat16(std::span<const float> values, std::uint16_t* out) {
  std::transform(values.begin(), values.end(), out, [](float v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    const std::uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    return static_cast<std::uint16_t>((is_nan ? bits | 0x400000 : rounded) >> 16);
  });
}

}  // namespace tessera
