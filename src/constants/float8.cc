// SPDX-License-Identifier: Apache-2.0
#include "constants/float8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr const Float8Format* kFormats[] = {&kFloat8E4M3, &kFloat8E5M2};

// One that divides, where all is zero.
float scale_for(float largest, const Float8Format& format) {
  const float scale = largest / static_cast<float>(format.largest);
  return scale >= std::numeric_limits<float>::min() ? scale : 1;
}

// Elements along a column and to the next one.
struct Columns {
  std::int64_t count, terms, column_stride, term_stride;
};
Columns columns_of(const Tensor& matrix, bool has_rows_of_terms) {
  const std::int64_t rows = matrix.shape[0], across = matrix.shape[1];
  return has_rows_of_terms ? Columns{rows, across, across, 1} : Columns{across, rows, 1, across};
}

}  // namespace

const Float8Format* find_float8(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kFormats, [name](const Float8Format* format) { return format->name == name; });
  return found == std::end(kFormats) ? nullptr : *found;
}

double float8_value(const Float8Format& format, int code) {
  const int size = code & (Float8Format::kSign - 1);
  const int exponent = size >> format.mantissa_bits;
  const int fraction = size & ((1 << format.mantissa_bits) - 1);
  const int one = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  double value =
      std::ldexp(one + fraction, std::max(exponent, 1) - format.bias() - format.mantissa_bits);
  if (size > format.largest_code) {
    const bool is_infinite = size == format.overflow_code && size != format.nan_code;
    value = is_infinite ? std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::quiet_NaN();
  }
  return (code & Float8Format::kSign) != 0 ? -value : value;
}

int float8_code(const Float8Format& format, double value, bool saturate) {
  if (std::isnan(value)) return format.nan_code;
  const int sign = std::signbit(value) ? Float8Format::kSign : 0;
  const double size = std::abs(value);
  const int large = saturate ? format.largest_code : format.overflow_code;
  if (std::isinf(size)) return sign | large;
  // Numbers below the least normal one have its exponent. Codes go on where mantissas overflow.
  const int least = 1 - format.bias();
  const int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  if (exponent > format.bias() + 1) return sign | large;
  const double steps = std::nearbyint(std::ldexp(size, format.mantissa_bits - exponent));
  const int code = ((exponent - least) << format.mantissa_bits) + static_cast<int>(steps);
  return sign | (code > format.largest_code ? large : code);
}

Float8Matrix float8_matrix(const Tensor& matrix, bool has_rows_of_terms, const Float8Format& format,
                           Float8Scales scales) {
  const Columns all = columns_of(matrix, has_rows_of_terms);
  const auto values = matrix.as<float>();
  const auto value = [&](std::int64_t column, std::int64_t term) {
    return values[static_cast<std::size_t>(column * all.column_stride + term * all.term_stride)];
  };
  std::vector<double> largest(static_cast<std::size_t>(all.count));
  for (std::int64_t c = 0; c < all.count; ++c) {
    double& most = largest[static_cast<std::size_t>(c)];
    for (std::int64_t t = 0; t < all.terms; ++t)
      most = std::max<double>(most, std::abs(value(c, t)));
  }
  if (scales == Float8Scales::kTensor) {
    largest = {largest.empty() ? 0 : *std::ranges::max_element(largest)};
  }
  for (double& scale : largest) scale = scale_for(static_cast<float>(scale), format);
  std::vector<std::byte> codes;
  codes.reserve(static_cast<std::size_t>(all.count * all.terms));
  double differences = 0, squares = 0;
  for (std::int64_t c = 0; c < all.count; ++c) {
    const double scale = largest[largest.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    for (std::int64_t t = 0; t < all.terms; ++t) {
      const double x = value(c, t);
      const int code = float8_code(format, x / scale, true);
      const double apart = x - float8_value(format, code) * scale;
      differences += apart * apart;
      squares += x * x;
      codes.push_back(static_cast<std::byte>(code));
    }
  }
  const bool is_one = scales == Float8Scales::kTensor;
  return {Tensor({all.count, all.terms}, kUInt8, Blob::adopt(std::move(codes))),
          tensor_from_doubles(is_one ? std::vector<std::int64_t>{} : std::vector{all.count},
                              kFloat32, largest),
          squares > 0 ? std::sqrt(differences / squares) : 0};
}

}  // namespace tessera
