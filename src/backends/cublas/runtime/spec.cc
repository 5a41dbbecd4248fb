// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/runtime/spec.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tessera::backends::cublas {
namespace {

constexpr const char* kScalarWords[] = {"float16", "bfloat16", "float32", "int8",
                                        "int32",   "e4m3fn",   "e5m2"};
constexpr const char* kSumsWords[] = {"float32", "tf32", "int32", "fast_float8"};
constexpr const char* kActivationWords[] = {"none", "relu", "gelu"};
constexpr const char* kScalesWords[] = {"none", "numbers", "vectors"};

template <class T, std::size_t count>
bool find(const char* text, const char* const (&words)[count], T* value) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strcmp(text, words[i]) != 0) continue;
    *value = static_cast<T>(i);
    return true;
  }
  return false;
}
bool read(const char* text, Scalar* value) { return find(text, kScalarWords, value); }
bool read(const char* text, Sums* value) { return find(text, kSumsWords, value); }
bool read(const char* text, Activation* value) { return find(text, kActivationWords, value); }
bool read(const char* text, Scales* value) { return find(text, kScalesWords, value); }
bool read(const char* text, std::int64_t* value) {
  char* end = nullptr;
  *value = std::strtoll(text, &end, 10);
  return end != text && *end == '\0';
}
bool read(const char* text, float* value) {
  char* end = nullptr;
  *value = std::strtof(text, &end);
  return end != text && *end == '\0';
}

bool set(const char* name, const char* value, Spec* spec) {
#define WORD(field, type) \
  if (std::strcmp(name, #field) == 0) return read(value, &spec->field);
#define NUMBER(field, usual) \
  if (std::strcmp(name, #field) == 0) return read(value, &spec->field);
#include "backends/cublas/runtime/spec.def"
  if (std::strcmp(name, "alpha") == 0) return read(value, &spec->alpha);
  return std::strcmp(name, "algorithm") == 0 && read_algorithm(value, spec->algorithm);
}

}  // namespace

const char* word(Scalar value) { return kScalarWords[static_cast<int>(value)]; }
const char* word(Sums value) { return kSumsWords[static_cast<int>(value)]; }
const char* word(Activation value) { return kActivationWords[static_cast<int>(value)]; }
const char* word(Scales value) { return kScalesWords[static_cast<int>(value)]; }

bool Spec::has_algorithm() const {
  for (const std::uint64_t part : algorithm) {
    if (part != 0) return true;
  }
  return false;
}

std::size_t write_spec(const Spec& spec, char (&text)[kSpecBytes]) {
  std::size_t length = 0;
  const auto add = [&](const char* name, const char* value) {
    length += static_cast<std::size_t>(std::snprintf(text + length, kSpecBytes - length, "%s%s=%s",
                                                     length == 0 ? "" : " ", name, value));
  };
  char number[32];
#define WORD(field, type) add(#field, word(spec.field));
#define NUMBER(field, usual)                                    \
  std::snprintf(number, sizeof number, "%" PRId64, spec.field); \
  add(#field, number);
#include "backends/cublas/runtime/spec.def"
  std::snprintf(number, sizeof number, "%a", static_cast<double>(spec.alpha));
  add("alpha", number);
  if (!spec.has_algorithm()) return length;
  char digits[kAlgorithmDigits + 1];
  write_algorithm(spec.algorithm, digits);
  add("algorithm", digits);
  return length;
}

bool read_spec(const char* text, std::size_t bytes, Spec* spec, TextBuffer* error) {
  char copy[kSpecBytes];
  if (bytes >= sizeof copy) {
    error->add("a product's text has %zu bytes", bytes);
    return false;
  }
  std::memcpy(copy, text, bytes);
  copy[bytes] = '\0';
  char* rest = nullptr;
  for (char* at = ::strtok_r(copy, " ", &rest); at != nullptr;
       at = ::strtok_r(nullptr, " ", &rest)) {
    char* value = std::strchr(at, '=');
    if (value != nullptr) *value++ = '\0';
    if (value != nullptr && set(at, value, spec)) continue;
    error->add("a product's text has the word `%s`", at);
    return false;
  }
  return true;
}

void write_algorithm(const std::uint64_t (&algorithm)[8], char (&text)[kAlgorithmDigits + 1]) {
  for (std::size_t i = 0; i < 8; ++i) std::snprintf(text + 16 * i, 17, "%016" PRIx64, algorithm[i]);
}

bool read_algorithm(const char* text, std::uint64_t (&algorithm)[8]) {
  if (std::strspn(text, "0123456789abcdef") != kAlgorithmDigits || text[kAlgorithmDigits] != '\0') {
    return false;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    char digits[17];
    std::memcpy(digits, text + 16 * i, 16);
    digits[16] = '\0';
    algorithm[i] = std::strtoull(digits, nullptr, 16);
  }
  return true;
}

}  // namespace tessera::backends::cublas
