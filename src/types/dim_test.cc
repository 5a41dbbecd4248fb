// SPDX-License-Identifier: Apache-2.0
#include "types/dim.h"

#include <limits>

#include <gtest/gtest.h>

#include "types/dim_broadcast.h"

namespace tessera {
namespace {

const Dim x = Dim::symbol("x"), y = Dim::symbol("y"), z = Dim::symbol("z");
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

std::string text(const Dim& dim) { return to_string(dim); }

TEST(Dim, EqualSumsAreEqual) {
  EXPECT_EQ(x * 2, x + x);
  EXPECT_EQ((x + 1) * (x - 1), x * x - 1);
  EXPECT_EQ((x + y) * (x + y), x * x + y * 2 * x + y * y);
  EXPECT_EQ(x - x, Dim(0));
  EXPECT_EQ((x * 2).hash(), (x + x).hash());
  EXPECT_NE(x, y);
  EXPECT_NE(x * 2, x * 3);
  EXPECT_NE(x, x + 1);
  EXPECT_EQ(Dim(), Dim(0));
}

TEST(Dim, UnknownSpreads) {
  const Dim unknown = Dim::unknown();
  for (const Dim& dim : {unknown + 1, unknown - unknown, unknown * x, floor_div(unknown, 2),
                         floor_mod(2, unknown), min(unknown, 0), max(x, unknown),
                         ceil_div(unknown, x), floor_div(x, 0), floor_mod(3, 0), ceil_div(3, 0)}) {
    EXPECT_TRUE(dim.is_unknown()) << text(dim);
  }
  EXPECT_EQ(unknown * 0, Dim(0));
  EXPECT_EQ(unknown, Dim::unknown());
  EXPECT_EQ(provably_equal(unknown, unknown), Tri::kMaybe);
}

TEST(Dim, OverflowIsUnknown) {
  EXPECT_TRUE((Dim(kLargest) + 1).is_unknown());
  EXPECT_TRUE((Dim(kLargest) * 2).is_unknown());
  EXPECT_TRUE((x * kLargest + x).is_unknown());
  EXPECT_TRUE((x * kLargest * 2).is_unknown());
  EXPECT_TRUE(floor_div(kSmallest, -1).is_unknown());
  EXPECT_EQ(floor_mod(kSmallest, -1), Dim(0));
  EXPECT_EQ(ceil_div(kLargest, 2), Dim(kLargest / 2 + 1));
  for (const Dim& dim :
       {x * kSmallest, x + kSmallest, floor_div(kSmallest, x), floor_mod(x, kSmallest),
        floor_div(x * kLargest, kLargest), min(x, kSmallest)}) {
    EXPECT_FALSE(text(dim).empty());  // no trap, whatever it is
  }
}

TEST(Dim, SizeIsBounded) {
  Dim sum = x;
  for (int i = 0; i < 40 && !sum.is_unknown(); ++i) sum = floor_div(sum * sum + y + i, z + i);
  EXPECT_TRUE(sum.is_unknown());
  Dim many = 0;
  for (int i = 0; i < 2000; ++i) many = many + Dim::symbol("s" + std::to_string(i));
  EXPECT_TRUE(many.is_unknown());
}

TEST(Dim, FloorDivisionFolds) {
  EXPECT_EQ(floor_div(x * 4, 2), x * 2);
  EXPECT_EQ(floor_div(x * 4 + 8, 4), x + 2);
  EXPECT_EQ(floor_div(x * 4 + 9, 4), x + 2);
  EXPECT_EQ(floor_div(x * 4 - 1, 4), x - 1);
  EXPECT_EQ(text(floor_div(x * 3 + 5, 2)), "?(x+floordiv(x+1, 2)+2)");
  EXPECT_EQ(floor_div(x * 2 + 1, 4), floor_div(x, 2));
  EXPECT_EQ(floor_div(floor_div(x, 2), 3), floor_div(x, 6));
  EXPECT_EQ(floor_div(floor_div(x - 3, 2) + 1, 2), floor_div(x - 1, 4));
  EXPECT_EQ(floor_div(floor_mod(x, 4), 4), Dim(0));
  EXPECT_EQ(floor_div(floor_mod(x, 4) + 4, 4), Dim(1));
  EXPECT_EQ(floor_div(x, 1), x);
  EXPECT_EQ(floor_div(-7, 2), Dim(-4));
  EXPECT_EQ(floor_div(x, -1), Dim(0) - x);
}

TEST(Dim, SymbolsDivideOut) {
  EXPECT_EQ(floor_div(x * y * 768, x * 12), y * 64);
  EXPECT_EQ(floor_div((x + 1) * y * 768, (x + 1) * 12), y * 64);
  EXPECT_EQ(floor_div((x + y) * (x - y) * 3, x + y), x * 3 - y * 3);
  EXPECT_EQ(floor_div(x, x), Dim(1));
  EXPECT_EQ(floor_div(x * y * 2, x * z * 4), floor_div(y, z * 2));
  EXPECT_EQ(text(floor_div(x + 1, y)), "?(floordiv(x+1, y))");
  EXPECT_EQ(floor_mod(x * y * 6, x * 3), Dim(0));
  EXPECT_EQ(ceil_div(x * y, x), y);
  EXPECT_EQ(ceil_div(x + 1, 2), floor_div(x, 2) + 1);
}

TEST(Dim, FloorModFolds) {
  EXPECT_EQ(floor_mod(x * 4, 2), Dim(0));
  EXPECT_EQ(floor_mod(x * 4 + 3, 2), Dim(1));
  EXPECT_EQ(floor_mod(x * 2 + 1, 4), floor_mod(x, 2) * 2 + 1);
  EXPECT_EQ(floor_mod(floor_mod(x, 12), 4), floor_mod(x, 4));
  EXPECT_EQ(floor_mod(floor_mod(x, 4), 12), floor_mod(x, 4));
  EXPECT_EQ(floor_mod(x + 5, 3), floor_mod(x + 2, 3));
  EXPECT_EQ(floor_mod(-7, 2), Dim(1));
  EXPECT_EQ(floor_mod(7, -2), Dim(-1));
}

TEST(Dim, MinAndMax) {
  EXPECT_EQ(min(x, x), x);
  EXPECT_EQ(min(x, x + 1), x);
  EXPECT_EQ(max(x, x + 1), x + 1);
  EXPECT_EQ(max(x, 0), x);
  EXPECT_EQ(max(x, -5), x);
  EXPECT_EQ(min(x * y + z, 0), Dim(0));
  EXPECT_EQ(min(floor_mod(x, 8), 7), floor_mod(x, 8));
  EXPECT_EQ(min(min(x, y), z), min(z, min(y, x)));
  EXPECT_EQ(min(min(x, 8), 5), min(x, 5));
  EXPECT_EQ(max(max(x, y), max(y + 1, x)), max(y + 1, x));
  EXPECT_EQ(min(3, 5), Dim(3));
  EXPECT_EQ(text(max(x, y)), "?(max(x, y))");
}

TEST(Dim, ProvablyEqual) {
  EXPECT_EQ(provably_equal(4, 4), Tri::kYes);
  EXPECT_EQ(provably_equal(4, 5), Tri::kNo);
  EXPECT_EQ(provably_equal(x, y), Tri::kMaybe);
  EXPECT_EQ(provably_equal(x, 5), Tri::kMaybe);
  EXPECT_EQ(provably_equal(x + 1, x), Tri::kNo);
  EXPECT_EQ(provably_equal(x, -1), Tri::kNo);
  EXPECT_EQ(provably_equal(x * 2, y * 2 + 1), Tri::kNo);
  EXPECT_EQ(provably_equal(floor_mod(x, 4), 4), Tri::kNo);
  EXPECT_EQ(provably_equal(floor_div(x, 4) * 4 + floor_mod(x, 4), x), Tri::kYes);
  EXPECT_EQ(provably_equal(floor_div(x, y) * y + floor_mod(x, y), x), Tri::kYes);
  EXPECT_EQ(provably_equal(Dim::unknown(), 4), Tri::kMaybe);
}

TEST(Dim, SymbolsAndSubstitution) {
  const Dim dim = floor_div(x + min(y, z), 2) * x;
  EXPECT_EQ(dim.symbols(), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(dim.substitute({{"x", 5}, {"y", 2}, {"z", 9}}), Dim(15));
  EXPECT_EQ((x + 1).substitute({{"x", y * 2}}), y * 2 + 1);
  EXPECT_EQ((x + y).substitute({{"y", x}}), x * 2);
  EXPECT_EQ((x + y).substitute({{"x", y}, {"y", x}}), x + y);  // at the same time
  EXPECT_TRUE((x + 1).substitute({{"x", Dim::unknown()}}).is_unknown());
  EXPECT_EQ(Dim(7).substitute({{"x", 1}}), Dim(7));
}

TEST(Dim, BroadcastsToTheLarger) {
  EXPECT_TRUE(broadcasts_to(min(512, x), x));
  EXPECT_TRUE(broadcasts_to(min(y + 1, x), x));
  EXPECT_TRUE(broadcasts_to(x + 1, x + y + 1));
  EXPECT_FALSE(broadcasts_to(x, min(512, x)));
  EXPECT_FALSE(broadcasts_to(min(y, x), x));  // 0 against 1 gives 0
  EXPECT_FALSE(broadcasts_to(x, x + 1));      // as here
  EXPECT_FALSE(broadcasts_to(x, y));
  EXPECT_FALSE(broadcasts_to(Dim::unknown(), x));
  EXPECT_FALSE(broadcasts_to(x, Dim::unknown()));
}

TEST(Dim, Shapes) {
  EXPECT_EQ(num_elements({2, x, 3}), x * 6);
  EXPECT_EQ(num_elements({}), Dim(1));
  EXPECT_EQ(num_elements({Dim::unknown(), kLargest, kLargest, 0}), Dim(0));
  EXPECT_TRUE(num_elements({kLargest, 2}).is_unknown());
  EXPECT_EQ(constant_shape({2, 3}), (std::vector<std::int64_t>{2, 3}));
  EXPECT_FALSE(constant_shape({2, x}));
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{4}), "(4)");
  EXPECT_EQ(to_string(Shape{2, Dim::unknown(), x, x * 2 + 1}), "(2, ?, ?x, ?(2*x+1))");
}

TEST(DimText, Prints) {
  EXPECT_EQ(text(Dim::unknown()), "?");
  EXPECT_EQ(x.expression_text(), "x");
  EXPECT_EQ((x * 2 + 1).expression_text(), "(2*x+1)");
  EXPECT_EQ(text(Dim(1) - x), "?(-x+1)");
  EXPECT_EQ(text(x - 1), "?(x-1)");
  EXPECT_EQ(text(x * x * y * 3 - y * 2), "?(3*x*x*y-2*y)");
  EXPECT_EQ(text(x * 2), "?(2*x)");
}

TEST(DimText, Parses) {
  EXPECT_EQ(parse_dim_expression("x"), x);
  EXPECT_EQ(parse_dim_expression("(2*x+1)"), x * 2 + 1);
  EXPECT_EQ(parse_dim_expression(" ( 1 + x * 2 ) "), x * 2 + 1);
  EXPECT_EQ(parse_dim_expression("floordiv(x, 2)"), floor_div(x, 2));
  EXPECT_EQ(parse_dim_expression("(min(x,y)-max(2, floormod(x*3, y)))"),
            min(x, y) - max(2, floor_mod(x * 3, y)));
  EXPECT_EQ(parse_dim_expression("(-x+5)"), Dim(5) - x);
  EXPECT_EQ(parse_dim_expression("((x+1)*(x-1))"), x * x - 1);
  EXPECT_EQ(parse_dim_expression("(min)"), Dim::symbol("min"));
  EXPECT_EQ(parse_dim_expression("_a1"), Dim::symbol("_a1"));
}

TEST(DimText, RefusesWhatIsNoExpression) {
  for (const char* wrong : {"",
                            " ",
                            "(",
                            ")",
                            "x)",
                            "(x",
                            "x y",
                            "2x",
                            "x+",
                            "*x",
                            "min(x)",
                            "min(x,y,z)",
                            "f(x, y)",
                            "x//2",
                            "x.y",
                            "floordiv(x, 0)",
                            "99999999999999999999",
                            "?",
                            "?x",
                            "(9223372036854775807+1)",
                            "--x"}) {
    EXPECT_FALSE(parse_dim_expression(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_dim_expression(std::string(100000, '(')));
  std::string deep = "x";
  for (int i = 0; i < 5000; ++i) deep = "floordiv(" + deep + ", y)";
  EXPECT_FALSE(parse_dim_expression(deep));
}

TEST(DimText, SymbolNames) {
  EXPECT_TRUE(is_symbol_name("seq_len2"));
  for (const char* wrong : {"", "2a", "a b", "a.b", "a-b", "ä"})
    EXPECT_FALSE(is_symbol_name(wrong));
}

}  // namespace
}  // namespace tessera
