// SPDX-License-Identifier: Apache-2.0
// Single elements and whole tensors of numbers, whatever the dtype.
#include <cmath>
#include <cstring>
#include <limits>

#include "constants/doubles.h"
#include "constants/tensor.h"
#include "support/check.h"
#include "support/f16.h"

namespace tessera {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// Calls f with a zero of the C++ type of an integer dtype.
template <class F>
decltype(auto) with_int_type(DType dtype, F&& f) {
  const bool is_signed = dtype.is_signed_int();
  switch (dtype.bits) {
    case 8:
      return is_signed ? f(std::int8_t{}) : f(std::uint8_t{});
    case 16:
      return is_signed ? f(std::int16_t{}) : f(std::uint16_t{});
    case 32:
      return is_signed ? f(std::int32_t{}) : f(std::uint32_t{});
    case 64:
      return is_signed ? f(std::int64_t{}) : f(std::uint64_t{});
    default:
      TESSERA_UNREACHABLE("no constants of {}", to_string(dtype));
  }
}

const std::byte* element_at(const Tensor& t, std::int64_t i) {
  TESSERA_CHECK(i >= 0 && i < t.num_elements(), "element {} of {}", i, t.num_elements());
  return t.blob->bytes().data() + i * t.dtype.size_bytes();
}

double load_float(const std::byte* at, DType dtype) {
  if (dtype == kFloat32) return load<float>(at);
  if (dtype == kFloat64) return load<double>(at);
  if (dtype == kFloat16) return float16_value(load<std::uint16_t>(at));
  TESSERA_CHECK(dtype == kBFloat16, "no constants of {}", to_string(dtype));
  return bfloat16_value(load<std::uint16_t>(at));
}

void store_float(std::byte* at, DType dtype, double value) {
  if (dtype == kFloat32) return store(at, static_cast<float>(value));
  if (dtype == kFloat64) return store(at, value);
  if (dtype == kFloat16) return store(at, float16_bits(value));
  TESSERA_CHECK(dtype == kBFloat16, "no constants of {}", to_string(dtype));
  store(at, bfloat16_bits(value));
}

// To nearest even; what does not fit becomes the nearest value that does, NaN becomes 0.
template <class T>
T int_from_double(double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  // 2^bits is exact, max() as a double may not be.
  if (rounded >= std::ldexp(1.0, std::numeric_limits<T>::digits)) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(rounded);
}

void store_double(std::byte* at, DType dtype, double value) {
  if (dtype.is_float()) return store_float(at, dtype, value);
  if (dtype.is_bool()) return store<std::uint8_t>(at, value != 0);
  with_int_type(dtype, [&]<class T>(T) { store(at, int_from_double<T>(value)); });
}

// A double that rounds to any narrower format as the integer itself does: digits that a double has
// no room for are gathered in its last bit.
double sticky_double(std::int64_t value) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (value > -kExact && value < kExact) return static_cast<double>(value);
  const std::int64_t high = (value >> 11) | ((value & 0x7ff) != 0 ? 1 : 0);
  return std::ldexp(static_cast<double>(high), 11);
}

// Integers keep their low bits, as a cast does.
void store_int(std::byte* at, DType dtype, std::int64_t value) {
  if (dtype.is_bool()) return store<std::uint8_t>(at, value != 0);
  if (dtype == kFloat64) return store(at, static_cast<double>(value));
  if (dtype.is_float()) return store_float(at, dtype, sticky_double(value));
  with_int_type(dtype, [&]<class T>(T) { store(at, static_cast<T>(value)); });
}

template <class V, class Store>
Tensor build(std::vector<std::int64_t> shape, DType dtype, std::span<const V> values,
             Store store_one) {
  TESSERA_CHECK(dtype.lanes == 1);
  const auto step = static_cast<std::size_t>(dtype.size_bytes());
  std::vector<std::byte> bytes(values.size() * step);
  for (std::size_t i = 0; i < values.size(); ++i) store_one(&bytes[i * step], dtype, values[i]);
  return Tensor(std::move(shape), dtype, Blob::adopt(std::move(bytes)));
}

}  // namespace

double element_as_double(const Tensor& t, std::int64_t i) {
  const std::byte* at = element_at(t, i);
  if (t.dtype.is_float()) return load_float(at, t.dtype);
  if (t.dtype.is_bool()) return load<std::uint8_t>(at) != 0 ? 1 : 0;
  return with_int_type(t.dtype, [&]<class T>(T) { return static_cast<double>(load<T>(at)); });
}

std::int64_t element_as_int(const Tensor& t, std::int64_t i) {
  const std::byte* at = element_at(t, i);
  if (t.dtype.is_float()) return int_from_double<std::int64_t>(std::trunc(load_float(at, t.dtype)));
  if (t.dtype.is_bool()) return load<std::uint8_t>(at) != 0 ? 1 : 0;
  return with_int_type(t.dtype, [&]<class T>(T) { return static_cast<std::int64_t>(load<T>(at)); });
}

void elements_as_doubles(const Tensor& t, std::int64_t first, std::span<double> out) {
  const auto count = static_cast<std::int64_t>(out.size());
  TESSERA_CHECK(first >= 0 && first + count <= t.num_elements(), "{} elements from {} of {}", count,
                first, t.num_elements());
  const std::byte* from = t.blob->bytes().data() + first * t.dtype.size_bytes();
  const auto fill = [&]<class T>(T, auto value_of) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<double>(value_of(load<T>(from + i * sizeof(T))));
    }
  };
  const auto itself = [](auto value) { return value; };
  if (t.dtype == kFloat32) return fill(float{}, itself);
  if (t.dtype == kFloat64) return fill(double{}, itself);
  if (t.dtype == kFloat16) return fill(std::uint16_t{}, float16_value);
  if (t.dtype == kBFloat16) return fill(std::uint16_t{}, bfloat16_value);
  if (t.dtype.is_bool()) return fill(std::uint8_t{}, [](std::uint8_t v) { return v != 0; });
  with_int_type(t.dtype, [&]<class T>(T zero) { fill(zero, itself); });
}

Tensor tensor_from_doubles(std::vector<std::int64_t> shape, DType dtype,
                           std::span<const double> values) {
  // Weights are large: these do not ask for the type at each element.
  if (dtype == kFloat16) {
    return build(std::move(shape), dtype, values,
                 [](std::byte* at, DType, double v) { store(at, float16_bits(v)); });
  }
  if (dtype == kBFloat16) {
    return build(std::move(shape), dtype, values,
                 [](std::byte* at, DType, double v) { store(at, bfloat16_bits(v)); });
  }
  return build(std::move(shape), dtype, values, store_double);
}

Tensor tensor_from_ints(std::vector<std::int64_t> shape, DType dtype,
                        std::span<const std::int64_t> values) {
  return build(std::move(shape), dtype, values, store_int);
}

}  // namespace tessera
