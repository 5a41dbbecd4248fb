// SPDX-License-Identifier: Apache-2.0
// Random expressions, evaluated beside their canonical forms.
#include <array>
#include <random>

#include <gtest/gtest.h>

#include "types/dim_expr.h"

namespace tessera {
namespace {

constexpr int kSymbols = 3;
constexpr int kPoints = 12;
using Values = std::array<std::int64_t, kSymbols>;

// An expression with its value at each point; nothing where a divisor is not positive.
struct Sample {
  Dim dim;
  std::array<std::optional<std::int64_t>, kPoints> values;
};

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);  // b > 0
}

class Fuzzer {
 public:
  explicit Fuzzer(unsigned seed) : random_(seed) {
    for (auto& point : points_) {
      for (auto& value : point) value = below(4) == 0 ? below(3) : below(40);
    }
  }

  Sample expression(int depth) {
    if (depth == 0 || below(6) == 0) return leaf();
    const Sample a = expression(depth - 1);
    const Sample b = below(2) == 0 ? leaf() : expression(depth - 1);
    return combine(static_cast<int>(below(7)), a, b);
  }

  Sample combine(int op, const Sample& a, const Sample& b) {
    Sample result;
    switch (op) {
      case 0:
        result.dim = a.dim + b.dim;
        break;
      case 1:
        result.dim = a.dim - b.dim;
        break;
      case 2:
        result.dim = a.dim * b.dim;
        break;
      case 3:
        result.dim = floor_div(a.dim, b.dim);
        break;
      case 4:
        result.dim = floor_mod(a.dim, b.dim);
        break;
      case 5:
        result.dim = min(a.dim, b.dim);
        break;
      default:
        result.dim = max(a.dim, b.dim);
    }
    for (int i = 0; i < kPoints; ++i) result.values[i] = value_of(op, a.values[i], b.values[i]);
    return result;
  }

  std::map<std::string, Dim> point(int i) const {
    return {{"a", points_[i][0]}, {"b", points_[i][1]}, {"c", points_[i][2]}};
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % n); }

 private:
  Sample leaf() {
    Sample result;
    if (below(3) == 0) {
      const std::int64_t number = below(3) == 0 ? below(25) - 12 : below(9);
      result.dim = number;
      result.values.fill(number);
      return result;
    }
    const auto symbol = static_cast<std::size_t>(below(kSymbols));
    result.dim = Dim::symbol(std::string(1, static_cast<char>('a' + symbol)));
    for (int i = 0; i < kPoints; ++i) result.values[i] = points_[i][symbol];
    return result;
  }

  static std::optional<std::int64_t> value_of(int op, std::optional<std::int64_t> a,
                                              std::optional<std::int64_t> b) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 60;
    if (!a || !b) return std::nullopt;
    std::int64_t value = 0;
    if ((op == 3 || op == 4) && *b <= 0) return std::nullopt;
    if (op == 0) value = *a + *b;
    if (op == 1) value = *a - *b;
    if (op == 2 && __builtin_mul_overflow(*a, *b, &value)) return std::nullopt;
    if (op == 3) value = floor_quotient(*a, *b);
    if (op == 4) value = *a - floor_quotient(*a, *b) * *b;
    if (op == 5) value = std::min(*a, *b);
    if (op == 6) value = std::max(*a, *b);
    return value > -kLimit && value < kLimit ? std::optional(value) : std::nullopt;
  }

  std::mt19937_64 random_;
  std::array<Values, kPoints> points_;
};

void expect_values(const Sample& sample, const Fuzzer& fuzzer) {
  const DimInterval range = DimAlgebra::interval(sample.dim);
  for (int i = 0; i < kPoints; ++i) {
    if (!sample.values[i]) continue;
    const Dim found = sample.dim.substitute(fuzzer.point(i));
    // A division by zero that folding put elsewhere has no value.
    if (found.is_unknown()) continue;
    ASSERT_EQ(found, Dim(*sample.values[i])) << to_string(sample.dim) << " at point " << i;
    ASSERT_TRUE(!range.min || *range.min <= *sample.values[i]) << to_string(sample.dim);
    ASSERT_TRUE(!range.max || *range.max >= *sample.values[i]) << to_string(sample.dim);
  }
}

void expect_text_reads_back(const Dim& dim) {
  const auto again = parse_dim_expression(dim.expression_text());
  ASSERT_TRUE(again) << to_string(dim);
  ASSERT_EQ(*again, dim) << to_string(*again);
  ASSERT_EQ(again->hash(), dim.hash());
}

void expect_equality_is_sound(const Sample& a, const Sample& b) {
  const Tri answer = provably_equal(a.dim, b.dim);
  if (answer == Tri::kMaybe) return;
  for (int i = 0; i < kPoints; ++i) {
    if (!a.values[i] || !b.values[i]) continue;
    ASSERT_EQ(*a.values[i] == *b.values[i], answer == Tri::kYes)
        << to_string(a.dim) << " and " << to_string(b.dim);
  }
}

TEST(DimFuzz, CanonicalFormsKeepTheValue) {
  int known = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    Fuzzer fuzzer(seed);
    const Sample a = fuzzer.expression(3), b = fuzzer.expression(2);
    if (a.dim.is_unknown() || b.dim.is_unknown()) continue;
    ++known;
    ASSERT_NO_FATAL_FAILURE(expect_values(a, fuzzer));
    ASSERT_NO_FATAL_FAILURE(expect_text_reads_back(a.dim));
    ASSERT_NO_FATAL_FAILURE(expect_equality_is_sound(a, b));
    for (int op = 0; op < 7; ++op) {
      const Sample both = fuzzer.combine(op, a, b);
      if (both.dim.is_unknown()) continue;
      ASSERT_NO_FATAL_FAILURE(expect_values(both, fuzzer));
      if (op == 1 || op == 3 || op == 4) continue;
      ASSERT_EQ(both.dim, fuzzer.combine(op, b, a).dim);
    }
    ASSERT_EQ((a.dim + b.dim) - b.dim, a.dim);
  }
  EXPECT_GT(known, 800);
}

TEST(DimFuzz, ProductsDivideExactly) {
  for (unsigned seed = 0; seed < 800; ++seed) {
    SCOPED_TRACE(seed);
    Fuzzer fuzzer(seed);
    const Dim a = fuzzer.expression(2).dim, b = fuzzer.expression(2).dim;
    const Dim product = a * b;
    if (product.is_unknown() || b.is_unknown() || b == Dim(0)) continue;
    const Dim quotient = floor_div(product, b), rest = floor_mod(product, b);
    if (a.is_symbolic() && b.is_symbolic() && product.expr()->terms.size() > 20) continue;
    ASSERT_EQ(quotient, a) << to_string(product) << " / " << to_string(b);
    ASSERT_EQ(rest, Dim(0));
  }
}

TEST(DimFuzz, TheParserSurvivesAnyText) {
  constexpr std::string_view kPieces[] = {"x",    "12", "(", ")",    "+",         "-",
                                          "*",    ",",  " ", "min(", "floordiv(", "floormod(",
                                          "max(", "y",  "0", "?"};
  std::mt19937_64 random(1);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto n = random() % 10; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
    const auto dim = parse_dim_expression(text);
    if (!dim) continue;
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(expect_text_reads_back(*dim)) << text;
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace tessera
