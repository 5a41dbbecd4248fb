// SPDX-License-Identifier: Apache-2.0
#include "passes/balanced_rounding.h"

#include <algorithm>
#include <cmath>

#include "support/check.h"
#include "support/f16.h"

namespace tessera::passes {
namespace {

// Numbers of a 16-bit type of moderate size: that none is too large is the caller's to know.
class Float16 {
 public:
  explicit Float16(DType dtype) : is_half_(dtype == kFloat16) {
    TESSERA_CHECK(is_half_ || dtype == kBFloat16);
  }
  // To nearest, some ties excepted, in a few instructions: weights are many.
  double rounded(double v) const {
    constexpr double kLeastNormal = 0x1p-14, kToSubnormal = 0x1.8p28;  // a digit of it is 2^-24
    if (is_half_ && std::abs(v) < kLeastNormal) return (v + kToSubnormal) - kToSubnormal;
    // Veltkamp's splitting: 53 digits to 11, or to 8.
    const double scaled = v * (is_half_ ? 0x1p42 + 1 : 0x1p45 + 1);
    return scaled - (scaled - v);
  }
  // That of the last place of numbers like `v`.
  double digit(double v) const { return std::abs(v) * (is_half_ ? 0x1p-10 : 0x1p-7); }
  // The number beside `v`, which is one and not 0, away from zero or towards it.
  double neighbour(double v, bool is_farther) const {
    const int bits = is_half_ ? float16_bits(v) : bfloat16_bits(v);
    const auto beside = static_cast<std::uint16_t>(bits + (is_farther ? 1 : -1));
    return is_half_ ? float16_value(beside) : bfloat16_value(beside);
  }

 private:
  bool is_half_;
};

// Some columns of the matrix beside each other: few enough for the caches, as they are read often.
class Block {
 public:
  static constexpr std::size_t kColumns = 64;

  Block(std::vector<double>& matrix, const MatrixLayout& layout, std::size_t first, DType dtype)
      : matrix_(matrix),
        layout_(layout),
        first_(first),
        columns_(std::min(kColumns, layout.columns - first)),
        type_(dtype),
        nearest_(layout.rows * columns_),
        errors_(layout.rows * columns_) {}

  void center() {
    std::vector<double> means(columns_, 0);
    for_each([&](std::size_t i, std::size_t j, std::size_t at) {
      nearest_[at] = matrix_[place(i, j)];
      means[j] += nearest_[at];
    });
    for (double& mean : means) mean /= static_cast<double>(layout_.rows);
    std::vector<Column> columns(columns_);
    for_each([&](std::size_t, std::size_t j, std::size_t at) {
      const double v = nearest_[at] - means[j];
      nearest_[at] = type_.rounded(v);
      errors_[at] = v - nearest_[at];
      columns[j].missing += errors_[at];
      columns[j].largest = std::max(columns[j].largest, std::abs(v));
    });
    balance(columns);
    for_each(
        [&](std::size_t i, std::size_t j, std::size_t at) { matrix_[place(i, j)] = nearest_[at]; });
  }

 private:
  struct Column {
    double missing = 0;  // of its sum, to be zero
    double largest = 0;
    std::size_t smallest = 0;  // where that is
  };

  std::size_t place(std::size_t i, std::size_t j) const { return layout_.at(i, first_ + j); }

  template <class F>
  void for_each(F&& f) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < layout_.rows; ++i) {
      for (std::size_t j = 0; j < columns_; ++j, ++at) f(i, j, at);
    }
  }

  void balance(std::vector<Column>& columns) {
    for (std::size_t j = 0; j < columns_; ++j) columns[j].smallest = j;
    for_each([&](std::size_t, std::size_t j, std::size_t at) {
      Column& c = columns[j];
      if (std::abs(c.missing) > type_.digit(c.largest) / 2) c.missing -= move(at, c.missing);
      if (std::abs(nearest_[at]) < std::abs(nearest_[c.smallest])) c.smallest = at;
    });
    if (layout_.rows == 0) return;
    // The rest is less than the last digit of most elements; small ones have more.
    for (const Column& c : columns) {
      nearest_[c.smallest] = type_.rounded(nearest_[c.smallest] + c.missing);
    }
  }

  // To the number on the other side if it is nearly as near and takes the sum nearer to zero; by
  // how much.
  double move(std::size_t at, double missing) {
    double& v = nearest_[at];
    const double error = errors_[at];
    if (v == 0 || error * missing <= 0) return 0;
    const double other = type_.neighbour(v, (error > 0) == (v > 0));
    const double step = other - v;
    constexpr double kNearlyHalf = 0.25;
    if (std::abs(error) < kNearlyHalf * std::abs(step)) return 0;
    if (std::abs(missing - step) >= std::abs(missing)) return 0;
    v = other;
    return step;
  }

  std::vector<double>& matrix_;
  const MatrixLayout& layout_;
  const std::size_t first_, columns_;
  const Float16 type_;
  std::vector<double> nearest_, errors_;  // row by row: numbers of the type, and what they lack
};

}  // namespace

void center_columns(std::vector<double>& matrix, const MatrixLayout& layout, DType dtype) {
  for (std::size_t first = 0; first < layout.columns; first += Block::kColumns) {
    Block(matrix, layout, first, dtype).center();
  }
}

}  // namespace tessera::passes
