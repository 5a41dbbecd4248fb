// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "schedule/rules.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

// A vectorised store of x[8 * part], of the first part that a condition chooses.
Stmt store_of_parts(int parts) {
  const Buffer x = tir::make_buffer("x", kFloat32, {parts * 8}),
               y = tir::make_buffer("y", kFloat32, {8});
  const Expr lane = tir::make_var("lane");
  Expr value = tir::float_imm(0.0);
  for (int i = 0; i < parts; ++i) {
    value = tir::select(tir::lt(lane, i % 8), tir::load(x, {lane + i * 8}), value);
  }
  return tir::For::make(lane, Expr(0), Expr(8), tir::ForKind::kVectorized,
                        tir::Store::make(y, std::vector<Expr>{lane}, value));
}

int values_read_ahead(const Stmt& s) {
  int values = 0;
  tir::for_each_node(
      s, [&](const Stmt& part) { values += part.as<tir::LetStmt>() != nullptr ? 1 : 0; });
  return values;
}

TEST(ReadAhead, AFewReadsGoInFrontOfTheStore) {
  EXPECT_EQ(values_read_ahead(read_ahead(store_of_parts(3))), 3);
  EXPECT_EQ(values_read_ahead(read_ahead(store_of_parts(60))), 60);
}

// Each element of a long concatenation would wait for all of its parts.
TEST(ReadAhead, VeryManyStayWhereTheyAre) {
  EXPECT_EQ(values_read_ahead(read_ahead(store_of_parts(1000))), 0);
}

}  // namespace
}  // namespace tessera::schedule
