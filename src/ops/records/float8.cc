// SPDX-License-Identifier: Apache-2.0
#include "ops/records/float8.h"

#include <cmath>
#include <limits>

namespace tessera::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Does rounding take the number beyond the largest one? In the middle of that and what would be the
// next one, the even code decides.
Expr overflows(const Float8Format& format, const Expr& size) {
  const double half_a_step = std::ldexp(1, std::ilogb(format.largest) - format.mantissa_bits - 1);
  const Expr middle = tir::imm(format.largest + half_a_step, kFloat32);
  return format.largest_code % 2 == 0 ? tir::gt(size, middle) : tir::ge(size, middle);
}

}  // namespace

Result<void> expect_float8(const InferArgs& args, std::string_view format) {
  if (find_float8(format) != nullptr) return {};
  return refuse(args, Code::kWrongAttribute, "has the format `{}`; there are e4m3fn and e5m2",
                format);
}

Result<void> expect_scale_of(const InferArgs& args, std::size_t scale, const Shape& shape) {
  const Type& given = args.operands[scale];
  if (given.dtype() != kFloat32) {
    return refuse(args, Code::kDtypeMismatch, "has scales of {}; they are float32",
                  to_string(given.dtype()));
  }
  if (given.rank() > shape.size()) {
    return refuse(args, Code::kShapeMismatch, "has scales of shape {} for {}",
                  to_string(given.shape()), to_string(shape));
  }
  for (std::size_t i = 0; i < given.rank(); ++i) {
    const Dim& size = given.shape()[i];
    if (size == Dim(1)) continue;
    TESSERA_TRY_VOID(
        agreed(args, shape[i + shape.size() - given.rank()], size, "sizes of data and scales"));
  }
  return {};
}

Expr float8_code(const Float8Format& format, const Expr& number, bool saturate) {
  const char* name = &format == &kFloat8E4M3 ? "float8_e4m3_code" : "float8_e5m2_code";
  const Expr code = tir::call(name, {number});
  if (saturate) return tir::cast(code, kUInt8);
  const Expr more = tir::imm(format.overflow_code - format.largest_code, kFloat32);
  const Expr is_large = overflows(format, tir::call("fabs", {number}));
  return tir::cast(code + tir::select(is_large, more, zero(kFloat32)), kUInt8);
}

Expr float8_number(const Float8Format& format, const Expr& code) {
  const auto integer = [](std::int64_t value) { return tir::int_imm(value, kInt32); };
  const auto bits = [&](const Expr& x, std::int64_t mask) {
    return tir::call("bitwise_and", {x, integer(mask)});
  };
  const Expr byte = tir::cast(code, kInt32), size = bits(byte, Float8Format::kSign - 1);
  const std::int64_t one = std::int64_t{1} << format.mantissa_bits;
  const Expr exponent = tir::call("shift_right", {size, integer(format.mantissa_bits)});
  const Expr fraction =
      bits(byte, one - 1) + tir::select(tir::eq(exponent, integer(0)), integer(0), integer(one));
  const Expr steps = tir::call("shift_left", {integer(1), tir::max(exponent, integer(1)) - 1});
  const double least = std::ldexp(1, 1 - format.bias() - format.mantissa_bits);
  const Expr finite =
      tir::cast(fraction, kFloat32) * tir::cast(steps, kFloat32) * tir::imm(least, kFloat32);
  const bool has_infinity = format.overflow_code != format.nan_code;
  Expr special = tir::float_imm(kNaN, kFloat32);
  if (has_infinity) {
    special = tir::select(tir::eq(size, integer(format.overflow_code)),
                          tir::float_imm(kInfinity, kFloat32), special);
  }
  const Expr number = tir::select(tir::le(size, integer(format.largest_code)), finite, special);
  return tir::select(tir::ge(byte, integer(Float8Format::kSign)), -number, number);
}

}  // namespace tessera::ops
