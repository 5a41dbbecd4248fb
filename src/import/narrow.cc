// SPDX-License-Identifier: Apache-2.0
#include "import/narrow.h"

#include <cmath>
#include <limits>

namespace tessera::import {
namespace {

// A float of a sign, an exponent and a mantissa; codes are without the sign.
struct NarrowFloat {
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  int largest = 0;              // code of the largest number
  std::optional<int> infinity;  // code
  int nan = 0;                  // code with the sign, of the NaN that is written
  bool has_negative_zero = true;
  bool always_saturates = false;

  int sign() const { return 1 << (exponent_bits + mantissa_bits); }
  double number(int code) const {
    const int exponent = code >> mantissa_bits, fraction = code & ((1 << mantissa_bits) - 1);
    const int one = exponent == 0 ? 0 : 1 << mantissa_bits;
    return std::ldexp(one + fraction, std::max(exponent, 1) - bias - mantissa_bits);
  }
};

NarrowFloat narrow_float(const Float8Format& f) {
  const bool has_infinity = f.overflow_code != f.nan_code;
  return {f.exponent_bits,
          f.mantissa_bits,
          f.bias(),
          f.largest_code,
          has_infinity ? std::optional(f.overflow_code) : std::nullopt,
          f.nan_code};
}

std::optional<NarrowFloat> narrow_float(int type) {
  if (const Float8Format* format = float8_format(type)) return narrow_float(*format);
  switch (type) {
    case onnx::TensorProto::FLOAT8E4M3FNUZ:
      return NarrowFloat{4, 3, 8, 0x7f, {}, 0x80, false};
    case onnx::TensorProto::FLOAT8E5M2FNUZ:
      return NarrowFloat{5, 2, 16, 0x7f, {}, 0x80, false};
    case onnx::TensorProto::FLOAT4E2M1:
      return NarrowFloat{2, 1, 1, 7, {}, 8, true, true};
    default:
      return std::nullopt;
  }
}

// The numbers of all codes, with their signs.
std::vector<double> numbers_of(const NarrowFloat& f) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> all;
  for (int code = 0; code < 2 * f.sign(); ++code) {
    const int size = code % f.sign();
    double number = size <= f.largest ? f.number(size) : kNan;
    if (size == f.infinity) number = std::numeric_limits<double>::infinity();
    if (code == f.sign() && !f.has_negative_zero) number = kNan;
    all.push_back(code >= f.sign() ? -number : number);
  }
  return all;
}

// The least number of the type `of` that is rounded to the code after `code`, for each code. A tie
// goes to the even one. NaN beyond them, which no number reaches.
std::vector<double> thresholds(const NarrowFloat& f, DType of) {
  std::vector<double> least(static_cast<std::size_t>(2 * f.sign()),
                            std::numeric_limits<double>::quiet_NaN());
  for (int code = 0; code <= f.largest; ++code) {
    const double middle = (f.number(code) + f.number(code + 1)) / 2;
    const double above = of == kFloat64 ? std::nextafter(middle, HUGE_VAL)
                                        : std::nextafter(static_cast<float>(middle), HUGE_VALF);
    least[static_cast<std::size_t>(code)] = code % 2 == 0 ? above : middle;
  }
  return least;
}

Value float_code(Value x, const NarrowFloat& f, bool saturate) {
  Node& n = x.node();
  x = x.cast(x.dtype() == kFloat64 ? kFloat64 : kFloat32);
  const Value size = x.apply("abs");
  const std::vector<double> least = thresholds(f, x.dtype());
  const auto count = static_cast<std::int64_t>(least.size());
  const Value table = numbers(n, {count}, least, x.dtype());
  // How many thresholds are reached.
  Value code = (size * 0.0).cast(kInt32) * 0.0;
  for (std::int64_t step = count / 2; step > 0; step /= 2) {
    const Value further = code + static_cast<double>(step);
    code = where(size >= table.take(further - 1.0, 0), further, code);
  }
  const Value is_large = code > static_cast<double>(f.largest);
  const bool is_cut = saturate || f.always_saturates;
  const int large = is_cut ? f.largest : f.infinity.value_or(f.nan);
  const Value below = x < 0.0, is_zero = equal(x, 0.0), inverse = 1.0 / x;
  const Value negative = below || (is_zero && inverse < 0.0);
  const Value has_sign = f.has_negative_zero ? negative : negative && code > 0.0;
  const Value large_code = code.number(large), cut = where(is_large, large_code, code);
  const Value sign = has_sign.cast(kInt32) * f.sign();
  const Value with_sign = cut + sign;
  // There is one NaN without negative zeros.
  const Value finite =
      f.has_negative_zero || is_cut ? with_sign : where(is_large, large_code, with_sign);
  const Value nan = finite.number(f.nan);
  return where(x.apply("isnan"), nan, finite).cast(kUInt8);
}

// The integer that the lowest bits hold.
Value low_bits(Value x, int bits, DType dtype) {
  const Value whole = x.dtype().is_int() ? x.cast(kInt64) : x.cast(kInt32).cast(kInt64);
  const double count = 1 << bits, offset = dtype.is_signed_int() ? count / 2 : 0;
  return (floor_mod(whole + offset, count) - offset).cast(dtype);
}

}  // namespace

bool is_narrow_float(int type) { return narrow_float(type).has_value(); }

const Float8Format* float8_format(int type) {
  if (type == onnx::TensorProto::FLOAT8E4M3FN) return &kFloat8E4M3;
  return type == onnx::TensorProto::FLOAT8E5M2 ? &kFloat8E5M2 : nullptr;
}

Value widened(Value bytes, int type) {
  Node& n = bytes.node();
  if (const Float8Format* format = float8_format(type)) {
    return bytes.apply("qnn.dequantize_float8", n.scalar(1, kFloat32),
                       {{"format", std::string(format->name)}});
  }
  const auto f = narrow_float(type);
  if (!f) return bytes;
  const std::vector<double> all = numbers_of(*f);
  const Value table = numbers(n, {static_cast<std::int64_t>(all.size())}, all, kFloat32);
  return table.take(bytes.cast(kInt32), 0);
}

Value narrowed(Value x, int type, bool saturate) {
  const Float8Format* format = float8_format(type);
  if (format != nullptr && x.dtype() != kFloat64) {
    const Value number = x.dtype().is_float() ? x : x.cast(kFloat32);
    return number.apply("qnn.quantize_float8", x.node().scalar(1, kFloat32),
                        {{"format", std::string(format->name)}, {"saturate", saturate}});
  }
  if (const auto f = narrow_float(type)) return float_code(x, *f, saturate);
  const PackedType packed = packed_type(type);
  return low_bits(x, packed.bits, packed.dtype);
}

Value wide_input(Node& n, std::size_t i) {
  const Value x = input(n, i);
  return n.is_narrow(i) ? widened(x, n.narrow_type(i)) : x;
}

}  // namespace tessera::import
