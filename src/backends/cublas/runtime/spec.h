// SPDX-License-Identifier: Apache-2.0
// A product as a function's payload says it: words `name=value`. Read where the model runs, and
// written by the compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/error.h"

namespace tessera::backends::cublas {

using runtime::TextBuffer;

enum class Scalar : std::uint8_t {
  kFloat16,
  kBFloat16,
  kFloat32,
  kInt8,
  kInt32,
  kFloat8E4M3,
  kFloat8E5M2,
};
// kFastFloat8: sums of floats of eight bits stay in the tensor cores' registers, which keep fewer
// digits than float32.
enum class Sums : std::uint8_t { kFloat32, kTf32, kInt32, kFastFloat8 };
enum class Activation : std::uint8_t { kNone, kRelu, kGelu };
// Of factors of eight bits: one number for each matrix, or one for each row of A and for each
// column of B.
enum class Scales : std::uint8_t { kNone, kNumbers, kVectors };

inline bool is_of_float8(Scalar type) {
  return type == Scalar::kFloat8E4M3 || type == Scalar::kFloat8E5M2;
}

const char* word(Scalar value);
const char* word(Sums value);
const char* word(Activation value);
const char* word(Scales value);

// result = activation(alpha scales A B + residual + bias)
struct Spec {
#define WORD(name, type) type name = {};
#define NUMBER(name, usual) std::int64_t name = usual;
#include "backends/cublas/runtime/spec.def"
  float alpha = 1;
  // The library's, opaque; all zero: its heuristic chooses.
  std::uint64_t algorithm[8] = {};

  bool has_algorithm() const;
  bool is_float8() const { return is_of_float8(a_type); }
};

inline constexpr std::size_t kSpecBytes = 1024;  // of a text, at most

// Its length.
std::size_t write_spec(const Spec& spec, char (&text)[kSpecBytes]);
// False: `error` says what cannot be read.
[[nodiscard]] bool read_spec(const char* text, std::size_t bytes, Spec* spec, TextBuffer* error);

// Sixteen hexadecimal digits for each of the eight numbers.
inline constexpr std::size_t kAlgorithmDigits = 128;
void write_algorithm(const std::uint64_t (&algorithm)[8], char (&text)[kAlgorithmDigits + 1]);
[[nodiscard]] bool read_algorithm(const char* text, std::uint64_t (&algorithm)[8]);

}  // namespace tessera::backends::cublas
