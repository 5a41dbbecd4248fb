// SPDX-License-Identifier: Apache-2.0
#include "tir/walk.h"

#include <gtest/gtest.h>

#include "tir/compare.h"

namespace tessera::tir {
namespace {

// for i in n: b[i] = a[i] * scale
Stmt scale_loop(const Buffer& a, const Buffer& b, const Expr& n, const Expr& scale,
                const char* index = "i") {
  const Expr i = make_var(index);
  return For::make(i, Expr(0), n, ForKind::kSerial,
                   Store::make(b, std::vector<Expr>{i}, load(a, {i}) * scale));
}

struct WalkTest : testing::Test {
  Expr n = make_var("n"), scale = make_var("scale", kFloat32);
  Buffer a = make_buffer("a", kFloat32, {n}), b = make_buffer("b", kFloat32, {n});
};

TEST_F(WalkTest, VisitCallsTheOverloadOfTheKind) {
  const auto kind = [](const Expr& e) {
    return visit(
        e, [](const Add&) { return "add"; }, [](const Var&) { return "var"; },
        [](Otherwise) { return "else"; });
  };
  EXPECT_STREQ(kind(n + 1), "add");
  EXPECT_STREQ(kind(n), "var");
  EXPECT_STREQ(kind(n * 2), "else");
}

TEST_F(WalkTest, ForEachNodeShowsWhatTheLambdaTakes) {
  const Stmt s = scale_loop(a, b, n, scale);
  int exprs = 0, stmts = 0, buffers = 0;
  for_each_node(s, [&](const Expr&) { ++exprs; });
  for_each_node(s, [&](const Stmt&) { ++stmts; });
  for_each_node(s, [&](const Buffer&) { ++buffers; });
  EXPECT_EQ(exprs, 8);  // i 0 n | i | mul load i scale
  EXPECT_EQ(stmts, 2);
  EXPECT_EQ(buffers, 2);
}

TEST_F(WalkTest, MapChildrenReturnsTheSameObjectIfNothingChanged) {
  const Stmt s = scale_loop(a, b, n, scale);
  EXPECT_TRUE(map_children(s, [](const auto& x) { return x; }).same_as(s));
  EXPECT_TRUE(substitute(s, {}).same_as(s));
}

TEST_F(WalkTest, SubstituteReplacesVariablesBuffersAndShapes) {
  const Buffer c = make_buffer("c", kFloat32, {n});
  const Stmt s =
      substitute(scale_loop(a, b, n, scale), {{scale.get(), float_imm(2)}}, {{a.get(), c}});
  EXPECT_TRUE(equal(s, scale_loop(c, b, n, float_imm(2))));
  const Stmt allocated = Allocate::make(a, scale_loop(a, a, n, scale));
  const Stmt fixed = substitute(allocated, {{n.get(), Expr(8)}});
  const auto& buffer = fixed.as<Allocate>()->buffer;
  EXPECT_TRUE(is_int(buffer->shape[0], 8));
  const auto* store = fixed.as<Allocate>()->body.as<For>()->body.as<Store>();
  EXPECT_EQ(store->buffer, buffer);  // definition and uses became the same new buffer
}

TEST_F(WalkTest, EqualityMapsDefinitionsAndNotNames) {
  const Stmt x = scale_loop(a, b, n, scale, "i"), y = scale_loop(a, b, n, scale, "j");
  EXPECT_TRUE(equal(x, y));
  EXPECT_EQ(hash(x), hash(y));
  EXPECT_FALSE(equal(x, scale_loop(b, a, n, scale)));
  EXPECT_FALSE(
      equal(x, scale_loop(a, b, n, make_var("scale", kFloat32))));  // another free variable
  // Two variables on one side may not stand for one on the other.
  const Expr p = make_var("p"), q = make_var("q");
  const auto nest = [](const Expr& u, const Expr& v, const Expr& used) {
    return For::make(u, Expr(0), Expr(2), ForKind::kSerial,
                     For::make(v, Expr(0), Expr(2), ForKind::kSerial, Evaluate::make(used)));
  };
  EXPECT_FALSE(equal(nest(p, q, p), nest(p, q, q)));
  EXPECT_TRUE(equal(nest(p, q, p), nest(q, p, q)));
}

TEST_F(WalkTest, FunctionsCompareBySignatureAndBody) {
  const auto function = [](const char* name) {
    const Expr n = make_var(name);
    const Buffer a = make_buffer("a", kFloat32, {n}), b = make_buffer("b", kFloat32, {n});
    PrimFunc f;
    f.inputs = {a};
    f.outputs = {b};
    f.dims = {n};
    f.body = scale_loop(a, b, n, float_imm(3));
    return f;
  };
  PrimFunc x = function("n"), y = function("m");
  EXPECT_TRUE(equal(x, y));
  EXPECT_EQ(hash(x), hash(y));
  y.is_host = true;
  EXPECT_FALSE(equal(x, y));
}

TEST_F(WalkTest, FreshDefinitionsAreEqualAndNew) {
  const Stmt s = Allocate::make(a, scale_loop(a, b, n, scale));
  const Stmt fresh = with_fresh_definitions(s);
  EXPECT_TRUE(equal(s, fresh));
  EXPECT_FALSE(fresh.as<Allocate>()->buffer == a);
}

TEST_F(WalkTest, ABlockIsWalkedInTheOrderOfItsText) {
  const Buffer c = make_buffer("c", kFloat32, {n});
  const Stmt first = Evaluate::make(Expr(1)), inner = Evaluate::make(Expr(2)),
             last = Evaluate::make(Expr(3));
  const Stmt block = seq({first, Allocate::make(c, View::make(b, c, inner)), last});
  std::string order;
  BlockWalk walk(block);
  const auto leave = [&](const Stmt& s) { order += s.as<View>() != nullptr ? "v" : "a"; };
  while (const Stmt* s = walk.next(leave)) {
    const auto* value = s->as<Evaluate>();
    if (value != nullptr) order += std::to_string(*as_int(value->value));
    if (value == nullptr) order += s->as<View>() != nullptr ? "V" : "A";
  }
  EXPECT_EQ(order, "1AV2va3");
  const auto negated = [](const Stmt& s) {
    return Evaluate::make(Expr(-*as_int(s.as<Evaluate>()->value)));
  };
  EXPECT_TRUE(equal(
      map_block(block, negated),
      seq({negated(first), Allocate::make(c, View::make(b, c, negated(inner))), negated(last)})));
  EXPECT_TRUE(equal(map_block(block, [](const Stmt& s) { return s; }), block));
}

}  // namespace
}  // namespace tessera::tir
