// SPDX-License-Identifier: Apache-2.0
//
// What generated kernels call besides tessera/call.h: storage types and scalar functions (C++).
//
// The float32 functions are branch-free, so that g++ and clang turn a loop under `omp simd` into
// vector code of any width. Each is within 2.5 units in the last place of the true value over the
// whole range, zeros, infinities, NaN and subnormal results included (emit/kernel_math_test.cc).
// They assume round to nearest and that NaN and infinities work: no -ffast-math. float64 goes to
// libm.
#ifndef TESSERA_KERNEL_MATH_H_
#define TESSERA_KERNEL_MATH_H_

#include <stdint.h>

#define TK_INLINE static inline __attribute__((always_inline, unused))

#include "tessera/fault.h"
#include "tessera/kernel_numbers.h"

#if defined(__clang__)
#define TK_PRAGMA_(text) _Pragma(#text)
#define TK_UNROLL(n) TK_PRAGMA_(unroll(n))
#else
#define TK_PRAGMA_(text) _Pragma(#text)
#define TK_UNROLL(n) TK_PRAGMA_(GCC unroll n)
#endif

namespace tk {

// ---- Storage types. Kernels compute in float and convert where they load and store.

// Without instructions for it clang calls __gnu_h2f_ieee, which libgcc does not have on x86.
#if defined(__clang__) && (defined(__F16C__) || defined(__ARM_FP))
using float16 = __fp16;  // storage only, which is all that is asked of it
#else
// g++ makes no vectors of conversions of _Float16, nor of what a loop does between them: they are
// made of operations on 32 bits, which are exact, with no subnormal float among them.
struct float16 {
  uint16_t bits;
  float16() = default;
  explicit inline __attribute__((always_inline)) float16(float value) : bits(rounded(value)) {}
  float16(const float16&) = default;
  // Of its member, since g++ makes no vectors of copies of structs.
  inline __attribute__((always_inline)) float16& operator=(const float16& other) {
    bits = other.bits;
    return *this;
  }
  explicit inline __attribute__((always_inline)) operator float() const {
    const uint32_t sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
    const uint32_t rebias = 112u << 23;  // of the exponent; twice for infinities and NaN
    const uint32_t normal = (size << 13) + rebias + (size >= 0x7c00u ? rebias : 0u);
    const uint32_t small = bits_of(float_of_bits(kHalf | size) - 0.5f);  // so many of 2^-24
    return float_of_bits(sign | (size < 0x400u ? small : normal));
  }

 private:
  static constexpr uint32_t kHalf = 0x3f000000u;  // 0.5, whose last bit is 2^-24
  // To nearest even; what is too large becomes infinite, NaN stays NaN.
  static inline __attribute__((always_inline)) uint16_t rounded(float value) {
    const uint32_t sign = bits_of(value) >> 16 & 0x8000u, size = bits_of(value) & 0x7fffffffu;
    const uint32_t nearest = ((size + 0xfffu + (size >> 13 & 1u)) >> 13) - (112u << 10);
    const uint32_t small = bits_of(float_of_bits(size) + 0.5f) - kHalf;
    const uint32_t finite = size < 0x38800000u ? small : nearest;
    const uint32_t number = size < 0x477ff000u ? finite : 0x7c00u;
    const uint32_t nan = 0x7e00u | (size >> 13 & 0x3ffu);
    return static_cast<uint16_t>(sign | (size > 0x7f800000u ? nan : number));
  }
};
#endif

struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  explicit inline __attribute__((always_inline)) bfloat16(float value) : bits(rounded(value)) {}
  bfloat16(const bfloat16&) = default;
  // Of its member, since g++ makes no vectors of copies of structs.
  inline __attribute__((always_inline)) bfloat16& operator=(const bfloat16& other) {
    bits = other.bits;
    return *this;
  }
  explicit inline __attribute__((always_inline)) operator float() const {
    return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
  }

 private:
  // To nearest even; NaN stays NaN.
  static inline __attribute__((always_inline)) uint16_t rounded(float value) {
    const uint32_t u = __builtin_bit_cast(uint32_t, value);
    const uint32_t nearest = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return static_cast<uint16_t>(value != value ? (u >> 16) | 0x40u : nearest);
  }
};

// ---- What compilers must not know

// 0, of which compilers know only that it is a number. For AVX-512, g++ reads whole vectors where
// it knows the lanes that a masked read leaves out, and so memory after a tensor (or before
// one): what `i < 2 ? x[i] : 0` compares with must be unknown to it.
TK_INLINE int64_t hidden_zero() {
  int64_t zero = 0;
  __asm__("" : "+r"(zero));
  return zero;
}
// 0 <= x < size, for a size that is no less than 0.
TK_INLINE bool is_inside(int64_t x, int64_t size) {
  return static_cast<uint64_t>(x) < static_cast<uint64_t>(size);
}

// ---- Float functions that are single instructions, or libm's.

#define TK_UNARY(name, builtin)                                       \
  TK_INLINE float name(float x) { return __builtin_##builtin##f(x); } \
  TK_INLINE double name(double x) { return __builtin_##builtin(x); }
TK_UNARY(fabs, fabs)
TK_UNARY(floor, floor)
TK_UNARY(ceil, ceil)
TK_UNARY(trunc, trunc)
TK_UNARY(rint, rint)
TK_UNARY(sqrt, sqrt)
TK_UNARY(exp2, exp2)
TK_UNARY(expm1, expm1)
TK_UNARY(log2, log2)
TK_UNARY(log10, log10)
TK_UNARY(log1p, log1p)
TK_UNARY(sin, sin)
TK_UNARY(cos, cos)
TK_UNARY(tan, tan)
TK_UNARY(asin, asin)
TK_UNARY(acos, acos)
TK_UNARY(atan, atan)
TK_UNARY(sinh, sinh)
TK_UNARY(cosh, cosh)
TK_UNARY(asinh, asinh)
TK_UNARY(acosh, acosh)
TK_UNARY(atanh, atanh)
#undef TK_UNARY
// Where it makes vectors, g++ takes the square root for the power of a half, which is another
// number of -0 and of minus infinity: the half is done here, so that it never sees one.
TK_INLINE float pow(float x, float y) {
  if (y != 0.5f) return __builtin_powf(x, y);
  return x == -__builtin_inff() ? __builtin_inff() : __builtin_sqrtf(x + 0.0f);
}
TK_INLINE double pow(double x, double y) {
  if (y != 0.5) return __builtin_pow(x, y);
  return x == -__builtin_inf() ? __builtin_inf() : __builtin_sqrt(x + 0.0);
}
TK_INLINE float fmod(float x, float y) { return __builtin_fmodf(x, y); }
TK_INLINE double fmod(double x, double y) { return __builtin_fmod(x, y); }
TK_INLINE float atan2(float y, float x) { return __builtin_atan2f(y, x); }
TK_INLINE double atan2(double y, double x) { return __builtin_atan2(y, x); }
TK_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
TK_INLINE float float8_e4m3_code(float x) { return float8_code<3, 7, 0x7e, 0x7f>(x); }
TK_INLINE float float8_e5m2_code(float x) { return float8_code<2, 15, 0x7b, 0x7e>(x); }
TK_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

template <class T>
TK_INLINE bool isnan(T x) {
  return x != x;
}
template <class T>
TK_INLINE bool isinf(T x) {
  return fabs(x) == static_cast<T>(__builtin_inf());
}
template <class T>
TK_INLINE bool isfinite(T x) {
  return fabs(x) < static_cast<T>(__builtin_inf());
}

// ---- exp

// 2^n for -126 <= n <= 127.
TK_INLINE float power_of_two(int32_t n) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(n + 127) << 23);
}

// x = n * ln(2) + r with |r| <= ln(2) / 2, and e^r. Adding 1.5 * 2^23 leaves n in the low bits.
struct exp_parts {
  int32_t n;
  float p;
};
TK_INLINE exp_parts split_exp(float x) {
  constexpr float kRound = 12582912.0f;
  const float t = x * 1.44269504f + kRound;
  const float n = t - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float q = 1.3814467e-3f;
  q = q * r + 8.368781e-3f;
  q = q * r + 4.1668393e-2f;
  q = q * r + 1.666652e-1f;
  q = q * r + 4.9999994e-1f;
  const uint32_t whole = __builtin_bit_cast(uint32_t, t) - __builtin_bit_cast(uint32_t, kRound);
  return {static_cast<int32_t>(whole), (q * r) * r + r + 1.0f};
}

TK_INLINE float exp(float x) {
  float c = x > 89.0f ? 89.0f : x;  // NaN passes both
  c = c < -104.0f ? -104.0f : c;
  const exp_parts e = split_exp(c);
  // In two steps: 2^128 and the powers of subnormal results are no floats.
  const int32_t half = e.n >> 1;
  return (e.p * power_of_two(half)) * power_of_two(e.n - half);
}
// For -87 <= x <= 88, or NaN, where one step is enough.
TK_INLINE float exp_normal(float x) {
  const exp_parts e = split_exp(x);
  return e.p * power_of_two(e.n);
}
TK_INLINE double exp(double x) { return __builtin_exp(x); }

TK_INLINE float sigmoid(float x) {
  const float e = exp(-__builtin_fabsf(x));  // of a negative number: no overflow
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
TK_INLINE double sigmoid(double x) { return 1.0 / (1.0 + __builtin_exp(-x)); }

// ---- tanh: a polynomial near zero, else by way of exp(2x)

TK_INLINE float tanh(float x) {
  const float t = __builtin_fabsf(x), s = x * x;
  float p = -5.7049864e-3f;
  p = p * s + 2.0639086e-2f;
  p = p * s - 5.3739715e-2f;
  p = p * s + 1.3331442e-1f;
  p = p * s - 3.333328e-1f;
  const float small = t + t * (s * p);
  const float c = t < 10.0f ? t : 10.0f;
  const float large = 1.0f - 2.0f / (exp_normal(c + c) + 1.0f);
  return __builtin_copysignf(t > 0.625f ? large : small, x);  // NaN takes `small`
}
TK_INLINE double tanh(double x) { return __builtin_tanh(x); }

// ---- erf: a polynomial near zero, else 1 - exp(polynomial)

TK_INLINE float erf(float x) {
  const float t = __builtin_fabsf(x), s = x * x;
  float p = -5.9537415e-4f;
  p = p * s + 4.9859406e-3f;
  p = p * s - 2.676172e-2f;
  p = p * s + 1.12816826e-1f;
  p = p * s - 3.761248e-1f;
  p = p * s + 1.2837915e-1f;
  const float small = x + x * p;
  const float c = t < 4.0f ? t : 4.0f;
  float q = 2.1398503e-4f;
  q = q * c - 3.2149563e-3f;
  q = q * c + 2.2889966e-2f;
  q = q * c - 1.0526185e-1f;
  q = q * c - 6.3571829e-1f;
  q = q * c - 1.2851436e-1f;
  const float large = 1.0f - exp_normal(q * c - c);
  return t > 0.92f ? __builtin_copysignf(large, x) : small;  // NaN takes `small`
}
TK_INLINE double erf(double x) { return __builtin_erf(x); }

// ---- log: x = 2^e * m with m in [sqrt(1/2), sqrt(2))

TK_INLINE float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;  // subnormals become normal
  const uint32_t offset = __builtin_bit_cast(uint32_t, scaled) - 0x3f3504f3u;
  const int32_t e = (static_cast<int32_t>(offset) >> 23) - (tiny ? 23 : 0);
  const float f = __builtin_bit_cast(float, (offset & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  float p = -7.634493e-2f;
  p = p * f + 1.2761575e-1f;
  p = p * f - 1.3160183e-1f;
  p = p * f + 1.4201759e-1f;
  p = p * f - 1.6623357e-1f;
  p = p * f + 2.0001227e-1f;
  p = p * f - 2.500082e-1f;
  p = p * f + 3.333333e-1f;
  const float n = static_cast<float>(e), s = f * f;
  float r = s * (f * p) - n * 2.12194440e-4f;
  r = f + (r - 0.5f * s);
  r = r + n * 0.693359375f;
  r = x > 0.0f ? r : (x == 0.0f ? -__builtin_inff() : __builtin_nanf(""));
  return x == __builtin_inff() ? x : r;
}
TK_INLINE double log(double x) { return __builtin_log(x); }

}  // namespace tk

// ---- Loops under `omp simd` with a minimum or maximum that keeps NaN, unlike the built-in one

#if defined(__clang__)
// clang does not vectorise reductions that the program declares, and warns of it.
#define TK_SIMD_MIN(variable)
#define TK_SIMD_MAX(variable)
#else
#define TK_SIMD_MIN(variable) TK_PRAGMA_(omp simd reduction(tk_min : variable))
#define TK_SIMD_MAX(variable) TK_PRAGMA_(omp simd reduction(tk_max : variable))
#define TK_REDUCTIONS_(type, infinity)                                   \
  TK_PRAGMA_(omp declare reduction(tk_min:type                           \
                                   : omp_out = tk::min(omp_out, omp_in)) \
                 initializer(omp_priv = infinity))                       \
  TK_PRAGMA_(omp declare reduction(tk_max:type                           \
                                   : omp_out = tk::max(omp_out, omp_in)) \
                 initializer(omp_priv = -infinity))
TK_REDUCTIONS_(float, __builtin_inff())
TK_REDUCTIONS_(double, __builtin_inf())
#undef TK_REDUCTIONS_
#endif

#endif  // TESSERA_KERNEL_MATH_H_
