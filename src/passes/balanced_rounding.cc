// SPDX-License-Identifier: Apache-2.0
#include "passes/balanced_rounding.h"

#include <cmath>

#include "support/check.h"
#include "support/f16.h"

namespace tessera::passes {
namespace {

class Float16 {
 public:
  explicit Float16(DType dtype) : is_half_(dtype == kFloat16) {
    TESSERA_CHECK(is_half_ || dtype == kBFloat16);
  }
  std::uint16_t bits(double v) const { return is_half_ ? float16_bits(v) : bfloat16_bits(v); }
  double value(std::uint16_t b) const { return is_half_ ? float16_value(b) : bfloat16_value(b); }
  double rounded(double v) const { return value(bits(v)); }
  // The number beside `v`, which is none of 0 and the largest, away from zero or towards it.
  double neighbour(double v, bool is_farther) const {
    const int step = is_farther ? 1 : -1;
    return value(static_cast<std::uint16_t>(bits(v) + step));
  }

 private:
  bool is_half_;
};

class Balancer {
 public:
  Balancer(std::vector<double>& matrix, const MatrixLayout& layout, DType dtype)
      : matrix_(matrix), layout_(layout), type_(dtype) {}

  void run() {
    std::vector<double> means(layout_.columns, 0);
    for_each([&](double& v, std::size_t column) {
      means[column] += v / static_cast<double>(layout_.rows);
    });
    missing_.assign(layout_.columns, 0);
    for_each([&](double& v, std::size_t column) {
      v -= means[column];
      missing_[column] += v - type_.rounded(v);
    });
    for_each([&](double& v, std::size_t column) { v = round(v, missing_[column]); });
    put_rest_into_smallest();
  }

 private:
  template <class F>
  void for_each(F&& f) {
    layout_.for_each(
        [&](std::size_t, std::size_t column, std::size_t place) { f(matrix_[place], column); });
  }

  // To the nearest number, or to that on the other side if it is nearly as near and takes the
  // column's sum nearer to zero.
  double round(double v, double& missing) const {
    const double nearest = type_.rounded(v), error = v - nearest;
    if (nearest == 0 || error == 0 || (error > 0) != (missing > 0)) return nearest;
    const double other = type_.neighbour(nearest, (error > 0) == (nearest > 0));
    const double step = other - nearest;
    constexpr double kNearlyHalf = 0.25;
    if (std::abs(error) < kNearlyHalf * std::abs(step)) return nearest;
    if (std::abs(missing - step) >= std::abs(missing)) return nearest;
    missing -= step;
    return other;
  }

  // What is missing still is less than the last digit of most elements; small ones have more.
  void put_rest_into_smallest() {
    std::vector<std::size_t> smallest(layout_.columns);  // its row
    layout_.for_each([&](std::size_t row, std::size_t column, std::size_t place) {
      const double least = std::abs(matrix_[layout_.at(smallest[column], column)]);
      if (std::abs(matrix_[place]) < least) smallest[column] = row;
    });
    for (std::size_t column = 0; column < layout_.columns && layout_.rows > 0; ++column) {
      double& v = matrix_[layout_.at(smallest[column], column)];
      v = type_.rounded(v + missing_[column]);
    }
  }

  std::vector<double>& matrix_;
  const MatrixLayout& layout_;
  const Float16 type_;
  std::vector<double> missing_;  // of each column's sum, to be zero
};

}  // namespace

void center_columns(std::vector<double>& matrix, const MatrixLayout& layout, DType dtype) {
  Balancer(matrix, layout, dtype).run();
}

}  // namespace tessera::passes
