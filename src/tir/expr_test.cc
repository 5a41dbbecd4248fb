// SPDX-License-Identifier: Apache-2.0
#include "tir/expr.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/check.h"
#include "tir/stmt.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

TEST(ExprTest, OperatorsFoldConstantsOfBothSides) {
  EXPECT_TRUE(is_int(Expr(3) + 4, 7));
  EXPECT_TRUE(is_int(floor_div(Expr(-7), 2), -4));
  EXPECT_TRUE(is_int(floor_mod(Expr(-7), 2), 1));
  EXPECT_TRUE(is_int(int_imm(200, kUInt8) + int_imm(100, kUInt8), 44));
  EXPECT_EQ(float_imm(0.1).as<FloatImm>()->value, static_cast<double>(0.1f));
  EXPECT_TRUE(std::isnan(max(float_imm(NAN), float_imm(1)).as<FloatImm>()->value));
  EXPECT_TRUE(std::isnan(max(float_imm(1), float_imm(NAN)).as<FloatImm>()->value));
  EXPECT_TRUE(is_int(lt(int_imm(-1, kUInt64), int_imm(1, kUInt64)), 0));
}

TEST(ExprTest, UndefinedResultsAreNotFolded) {
  EXPECT_NE((Expr(INT64_MAX) + 1).as<Add>(), nullptr);
  EXPECT_NE((int_imm(INT32_MAX, kInt32) + int_imm(1, kInt32)).as<Add>(), nullptr);
}

TEST(ExprTest, IntegerDivisionIsDefinedForAllOperands) {
  EXPECT_TRUE(is_int(Expr(5) / 0, 0));
  EXPECT_TRUE(is_int(floor_div(Expr(-5), 0), 0));
  EXPECT_TRUE(is_int(floor_mod(Expr(-5), 0), 0));
  EXPECT_TRUE(is_int(floor_mod(int_imm(5, kUInt64), int_imm(0, kUInt64)), 0));
  for (const DType t : {kInt8, kInt16, kInt32, kInt64}) {
    const Expr smallest = int_imm(INT64_MIN >> (64 - t.bits), t), minus_one = int_imm(-1, t);
    EXPECT_TRUE(is_int(smallest / minus_one, *as_int(smallest))) << to_string(t);
    EXPECT_TRUE(is_int(floor_div(smallest, minus_one), *as_int(smallest))) << to_string(t);
    EXPECT_TRUE(is_int(floor_mod(smallest, minus_one), 0)) << to_string(t);
  }
}

TEST(ExprTest, LiteralsTakeTheOtherOperandsType) {
  const Expr x = make_var("x", kFloat32);
  EXPECT_EQ((x * 2).dtype(), kFloat32);
  EXPECT_EQ(lt(x, 2).dtype(), kBool);
  EXPECT_THROW(x + make_var("i"), InternalError);
}

TEST(ExprTest, NegationKeepsTheSignOfZero) {
  const Expr minus = -float_imm(0.0);
  EXPECT_TRUE(std::signbit(minus.as<FloatImm>()->value));
}

TEST(ExprTest, LongChainsAreFreedWithoutRecursion) {
  Expr e = make_var("x");
  for (int i = 0; i < 1'000'000; ++i) e = Add::make(kInt64, e, Expr(1));
  e = Expr();
  Stmt s = Evaluate::make(make_var("y"));
  for (int i = 0; i < 300'000; ++i) s = IfThenElse::make(bool_imm(true), s, Stmt());
  s = Stmt();
  SUCCEED();
}

TEST(StmtTest, SequencesAreFlattened) {
  const Stmt a = Evaluate::make(Expr(1)), b = Evaluate::make(Expr(2));
  EXPECT_TRUE(seq({a}).same_as(a));
  EXPECT_EQ(seq({a, seq({b, a}), Stmt()}).as<Seq>()->body.size(), 3u);
  EXPECT_TRUE(is_empty(seq({})));
}

TEST(BufferTest, StridesOfDenseBuffers) {
  const Buffer b = make_buffer("b", kFloat32, {2, 3, 4});
  const auto strides = strides_of(b);
  EXPECT_TRUE(is_int(strides[0], 12) && is_int(strides[1], 4) && is_int(strides[2], 1));
  EXPECT_EQ(constant_size(b), 24);
  EXPECT_EQ(constant_size(make_buffer("d", kInt8, {make_var("n")})), -1);
}

}  // namespace
}  // namespace tessera::tir
