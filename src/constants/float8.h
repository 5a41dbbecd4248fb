// SPDX-License-Identifier: Apache-2.0
// Floats of eight bits as their codes: a byte holds sign, exponent and mantissa.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "constants/tensor.h"

namespace tessera {

struct Float8Format {
  std::string_view name;  // "e4m3fn", "e5m2"
  int exponent_bits = 0, mantissa_bits = 0;
  // Codes without the sign.
  int largest_code = 0;   // of a number
  int overflow_code = 0;  // of what is too large and not to saturate: infinity, or NaN without one
  int nan_code = 0;
  double largest = 0;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  static constexpr int kSign = 0x80;
};

inline constexpr Float8Format kFloat8E4M3 = {"e4m3fn", 4, 3, 0x7e, 0x7f, 0x7f, 448};
inline constexpr Float8Format kFloat8E5M2 = {"e5m2", 5, 2, 0x7b, 0x7c, 0x7e, 57344};

// The format of that name, or null.
const Float8Format* find_float8(std::string_view name);

double float8_value(const Float8Format& format, int code);
// Rounds to the nearest, a tie to the even code. What is too large becomes the largest number if it
// is to saturate.
int float8_code(const Float8Format& format, double value, bool saturate);

// ---- Matrices as codes

// How fine the scales are: one for a matrix, or one for each of its columns.
enum class Float8Scales : std::uint8_t { kTensor, kColumn };

struct Float8Matrix {
  Tensor codes;      // uint8[columns, terms]
  Tensor scale;      // float32[] or float32[columns]
  double error = 0;  // the norm of the differences over that of the matrix
};
// A matrix of finite float32, [columns, terms] or, where it has not rows of terms, the other way
// round. Its largest magnitude, or that of each column, becomes the largest number.
Float8Matrix float8_matrix(const Tensor& matrix, bool has_rows_of_terms, const Float8Format& format,
                           Float8Scales scales);

}  // namespace tessera
