// SPDX-License-Identifier: Apache-2.0
//
// Floats of 16 bits as few_rows.cuh makes them of bits. Whoever includes this has tk::float16 and
// tk::bfloat16.
#ifndef TESSERA_FEW_ROWS_NUMBERS_CUH_
#define TESSERA_FEW_ROWS_NUMBERS_CUH_

#include <stdint.h>

namespace tk {

// How numbers of the type are made of bits.
template <class T>
struct half_form;
template <>
struct half_form<float16> {
  static constexpr int kDigits = 10;
  static constexpr uint32_t kExponent = 25;        // of 2^kDigits
  static constexpr uint32_t kOnes = 0x3c003c00u;   // two
  static constexpr uint32_t kUnits = 0x64006400u;  // 2^kDigits: the last digit is 1
};
template <>
struct half_form<bfloat16> {
  static constexpr int kDigits = 7;
  static constexpr uint32_t kExponent = 134;
  static constexpr uint32_t kOnes = 0x3f803f80u;
  static constexpr uint32_t kUnits = 0x43004300u;
};

// Sixteen bytes: what one access brings.
struct alignas(16) quad {
  uint32_t e[4];
};

// What data of a type are multiplied as.
template <class T>
struct operand {
  using half = T;
  static constexpr int kParts = 1;
};
template <>
struct operand<float> {
  using half = bfloat16;
  static constexpr int kParts = 3;
};

}  // namespace tk

#endif  // TESSERA_FEW_ROWS_NUMBERS_CUH_
