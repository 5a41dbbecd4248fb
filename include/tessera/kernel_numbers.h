// SPDX-License-Identifier: Apache-2.0
//
// What generated kernels call for numbers of any type, with one meaning on every device (C++):
// kernel_math.h and kernel_cuda.cuh include it, having said how functions are declared there.
#ifndef TESSERA_KERNEL_NUMBERS_H_
#define TESSERA_KERNEL_NUMBERS_H_

#include <stdint.h>

#ifndef TK_INLINE
#define TK_INLINE static inline
#endif

namespace tk {

// ---- Minimum and maximum: NaN if either is.

template <class T>
TK_INLINE T min(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T>
TK_INLINE T max(T a, T b) {
  return a > b || a != a ? a : b;
}

// ---- Integer division, which never traps: by zero the quotient and the rest are 0, and the
// smallest number divided by -1 is itself. Selections, not branches; with a literal divisor none is
// left.

template <class T>
TK_INLINE bool is_negative(T x) {
  if constexpr (static_cast<T>(-1) < static_cast<T>(1)) return x < 0;
  return false;
}
// What is safe to divide by; 0 and -1 are done without division. `||` would be a branch, of which
// a few dozen take nvcc more than ten minutes.
template <class T>
TK_INLINE T safe_divisor(T b) {
  const bool is_minus_one = (T(-1) < T(0)) & (b == T(-1));
  return ((b == T(0)) | is_minus_one) ? T(1) : b;
}
// The quotient, from that by the safe divisor.
template <class T>
TK_INLINE T safe_quotient(T q, T b) {
  const T negative = static_cast<T>(uint64_t{0} - static_cast<uint64_t>(q));  // wraps
  const T wrapped = ((T(-1) < T(0)) & (b == T(-1))) ? negative : q;
  return b == T(0) ? T(0) : wrapped;
}
// Towards zero.
template <class T>
TK_INLINE T trunc_div(T a, T b) {
  return safe_quotient(static_cast<T>(a / safe_divisor(b)), b);
}
// Towards minus infinity, and what that leaves.
template <class T>
TK_INLINE T floor_div(T a, T b) {
  const T d = safe_divisor(b), q = static_cast<T>(a / d), r = static_cast<T>(a % d);
  return safe_quotient(
      static_cast<T>(q - static_cast<T>((r != 0) & (is_negative(a) != is_negative(d)))), b);
}
template <class T>
TK_INLINE T floor_mod(T a, T b) {
  const T d = safe_divisor(b), r = static_cast<T>(a % d);
  const bool below = (r != 0) & (is_negative(r) != is_negative(d));
  return static_cast<T>(below ? r + d : r);
}

// ---- Powers of integers, wrapped; of a negative n it is 1 / x^-n towards zero, and 0 of 0. By way
// of floats they would be wrong beyond 2^53, and elsewhere where pow is not exact.

template <class T>
TK_INLINE T int_pow(T x, T n) {
  // As uint64 a negative n is as odd as it was, which is all that the powers of 1 and -1 ask.
  const bool is_fraction = is_negative(n) & (x != T(1)) & (x != static_cast<T>(-1));
  uint64_t rest = is_fraction ? 0 : static_cast<uint64_t>(n);
  uint64_t square = static_cast<uint64_t>(x), product = 1;
  for (; rest != 0; rest >>= 1) {
    product *= (rest & 1) != 0 ? square : 1;
    square *= square;
  }
  return is_fraction ? T(0) : static_cast<T>(product);
}

// ---- Shifts by any number: of its lowest six bits.

template <class T>
TK_INLINE T shift_left(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) << (static_cast<uint64_t>(b) & 63));
}
template <class T>
TK_INLINE T shift_right(T a, T b) {
  const uint64_t count = static_cast<uint64_t>(b) & 63;
  if constexpr (static_cast<T>(-1) < static_cast<T>(1)) {
    return static_cast<T>(static_cast<int64_t>(a) >> count);
  }
  return static_cast<T>(static_cast<uint64_t>(a) >> count);
}

// ---- Floats of eight bits: the code of a number, as a number. To the nearest, a tie to the even
// code; what is too large becomes the largest number.

TK_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
TK_INLINE float float_of_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }

template <int kMantissa, int kBias, int kLargest, int kNaN>
TK_INLINE float float8_code(float x) {
  constexpr int kDropped = 23 - kMantissa, kLeastNormal = 1 - kBias;
  const uint32_t sign = bits_of(x) >> 31 << 7, size = bits_of(x) & 0x7fffffffu;
  const uint32_t half = (1u << (kDropped - 1)) - 1 + (size >> kDropped & 1u);
  const int32_t normal =
      static_cast<int32_t>((size + half) >> kDropped) - ((127 - kBias) << kMantissa);
  // Below the least normal number, adding leaves how many of the least one there are.
  const float unit =
      float_of_bits(static_cast<uint32_t>(23 + kLeastNormal - kMantissa + 127) << 23);
  const int32_t small =
      static_cast<int32_t>(bits_of(min(float_of_bits(size), unit) + unit) - bits_of(unit));
  const bool is_normal = size >= static_cast<uint32_t>(kLeastNormal + 127) << 23;
  const int32_t code = min(is_normal ? normal : small, static_cast<int32_t>(kLargest));
  return static_cast<float>(x != x ? kNaN : static_cast<int32_t>(sign) | code);
}

}  // namespace tk

#endif  // TESSERA_KERNEL_NUMBERS_H_
