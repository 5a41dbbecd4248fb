// SPDX-License-Identifier: Apache-2.0
// What the primitives accept, and the sentences with which they refuse.
#include "schedule/primitives.h"

#include <gtest/gtest.h>

#include "tir/print.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::Stmt;

struct Loops {
  Loop i{tir::make_var("i"), 6}, j{tir::make_var("j"), 8};
  tir::Buffer x = tir::make_buffer("x", kFloat32, {6, 8}),
              y = tir::make_buffer("y", kFloat32, {6, 8});
  tir::Buffer v = tir::make_buffer("v", kFloat32, {64});

  Stmt store(const tir::Buffer& b, std::vector<Expr> at, Expr value) const {
    return tir::Store::make(b, std::move(at), std::move(value));
  }
  Nest nest(Stmt body) const { return {{i, j}, std::move(body)}; }
  Nest copy() const { return nest(store(y, {i.var, j.var}, tir::load(x, {i.var, j.var}))); }
};

std::string reason(const Checked<Nest>& c) { return c ? "accepted" : c.error().reason; }

TEST(Reorder, SwapsIndependentLoops) {
  const Loops l;
  const auto swapped = reorder(l.copy(), {1, 0});
  ASSERT_TRUE(swapped.has_value()) << reason(swapped);
  EXPECT_TRUE(swapped->loops[0].var.same_as(l.j.var));
}

TEST(Reorder, RefusesWhereIterationsFollowEachOther) {
  const Loops l;
  // y[i, j] needs y[i - 1, j + 1], which a loop over j outside would compute later.
  const Nest n =
      l.nest(l.store(l.y, {l.i.var, l.j.var}, tir::load(l.y, {l.i.var - 1, l.j.var + 1}) + 1));
  EXPECT_NE(reason(reorder(n, {1, 0})), "accepted");
}

TEST(Parallelise, RefusesSharedElements) {
  const Loops l;
  const Nest sum = l.nest(l.store(l.v, {l.j.var}, tir::load(l.v, {l.j.var}) + 1));
  EXPECT_EQ(reason(parallelise(sum, 0)), "iterations share elements of `v`");
  EXPECT_EQ(reason(parallelise(sum, 1)), "accepted");
}

TEST(Parallelise, RefusesOverlap) {
  const Loops l;
  const Nest overlapping = l.nest(l.store(l.v, {l.i.var * 4 + l.j.var}, Expr(tir::float_imm(1))));
  EXPECT_EQ(reason(parallelise(overlapping, 0)), "iterations overlap in `v`");
  const Nest apart = l.nest(l.store(l.v, {l.i.var * 8 + l.j.var}, Expr(tir::float_imm(1))));
  EXPECT_EQ(reason(parallelise(apart, 0)), "accepted");
  EXPECT_EQ(reason(parallelise(apart, 1)), "accepted");
}

TEST(Parallelise, RefusesIndicesFromMemory) {
  const Loops l;
  const auto index = tir::make_buffer("index", kInt64, {6});
  const Nest scatter = l.nest(l.store(l.v, {tir::load(index, {l.i.var})}, Expr(tir::float_imm(1))));
  EXPECT_EQ(reason(parallelise(scatter, 0)), "`v` is not indexed linearly");
}

TEST(Vectorise, TakesAccumulationIntoOnePlace) {
  const Loops l;
  const Nest sum = l.nest(
      l.store(l.v, {l.i.var}, tir::load(l.v, {l.i.var}) + tir::load(l.x, {l.i.var, l.j.var})));
  EXPECT_EQ(reason(vectorise(sum, 1)), "accepted");
  const Nest last = l.nest(l.store(l.v, {l.i.var}, tir::load(l.x, {l.i.var, l.j.var})));
  EXPECT_EQ(reason(vectorise(last, 1)), "iterations share elements of `v`");
  EXPECT_EQ(reason(vectorise(sum, 0)), "only the innermost loop can be vectorised");
}

TEST(Collapse, JoinsWhereMemoryIsContiguous) {
  const Loops l;
  const auto joined = collapse(l.copy(), 0);
  ASSERT_TRUE(joined.has_value()) << reason(joined);
  EXPECT_EQ(joined->loops.size(), 1u);
  EXPECT_EQ(joined->loops[0].size(), 48);
  const Nest rows = l.nest(l.store(l.y, {l.i.var, l.j.var}, tir::load(l.v, {l.j.var})));
  EXPECT_EQ(reason(collapse(rows, 0)), "`v` is not linear in i and j");
}

TEST(Split, KeepsARemainder) {
  const Loops l;
  const auto cut = split(l.copy(), 1, 3);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->loops[1].size(), 3);
  EXPECT_EQ(tir::print(cut->loops[2].extent), "T.min(3, 8 - jo * 3)");
}

TEST(Unroll, RefusesManyIterations) {
  const Loops l;
  Nest n = l.copy();
  n.loops[0].extent = 100;
  EXPECT_EQ(reason(unroll(n, 0)), "`i` has too many iterations to unroll");
}

}  // namespace
}  // namespace tessera::schedule
