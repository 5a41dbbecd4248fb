// SPDX-License-Identifier: Apache-2.0
#include "tir/simplify.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/check.h"
#include "tir/compare.h"
#include "tir/evaluate.h"
#include "tir/interpret.h"
#include "tir/parse.h"
#include "tir/print.h"
#include "tir/random_function.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

// i < 12, j < 8, k < 16, n >= 0; a, b, f, g, p, q: anything.
struct SimplifyTest : testing::Test {
  SimplifyTest() {
    for (const auto& [name, extent] : {std::pair{"i", 12}, {"j", 8}, {"k", 16}}) {
      vars.push_back(make_var(name));
      bounds.set(vars.back(), {0, extent - 1});
    }
    vars.push_back(make_var("n"));
    bounds.set_size(vars.back());
    for (const char* name : {"a", "b"}) vars.push_back(make_var(name));
    for (const char* name : {"f", "g"}) vars.push_back(make_var(name, kFloat32));
    for (const char* name : {"p", "q"}) vars.push_back(make_var(name, kBool));
    vars.push_back(make_var("s", kInt32));
  }
  Expr parse(std::string_view text) {
    const auto e = parse_expr(text, vars);
    EXPECT_TRUE(e) << text << "\n" << (e ? "" : render(e.error()));
    return e ? *e : Expr(0);
  }
  void check(std::string_view before, std::string_view after) {
    const Expr e = simplify(parse(before), bounds);
    EXPECT_EQ(print(e), after) << "from " << before;
    EXPECT_TRUE(simplify(e, bounds).same_as(e)) << "a second time changes " << after;
  }
  std::vector<Expr> vars;
  Bounds bounds;
};

TEST_F(SimplifyTest, IndicesOfReshapesAndTransposes) {
  check("(i * 8 + j) // 8", "i");
  check("(i * 8 + j) % 8", "j");
  check("(i // 4) * 4 + i % 4", "i");
  check("(a // 4) * 4 + a % 4", "a");
  check("(i * 128 + j * 16 + k) // 16 % 8", "j");
  check("(i * 128 + j * 16 + k) // 128", "i");
  check("(i * 8 + j) // 16", "i // 2");
  check("(i * 8 + j) % 16", "i % 2 * 8 + j");
  check("((i * 8 + j) // 16) * 16 + (i * 8 + j) % 16", "i * 8 + j");
  check("(a % 8) // 4 * 4 + a % 4", "a % 8");
  check("(a % 12) % 4", "a % 4");
  check("a // 3 // 5", "a // 15");
  check("(a * 6) // 4", "a * 3 // 2");
  check("(n * 8 + j) // 8", "n");
  check("(j + 8) // 8", "1");
  check("(j - 8) // 8", "-1");
  check("(i * 64 + j * 8 - j * 8 + 3) % 64", "3");
  check("(k // 4 * 64 + i * 4 + k % 4) // 64 * 4 + (k // 4 * 64 + i * 4 + k % 4) % 4", "k");
}

TEST_F(SimplifyTest, BoundsDecideConditionsAndExtremes) {
  check("i < 12", "True");
  check("12 <= i", "False");
  check("i < 11", "i < 11");
  check("T.if_then_else(j < 8, f, g)", "f");
  check("T.if_then_else(0 <= i and i < 20, f, g)", "f");
  check("T.if_then_else(n < 0, a, b)", "b");
  check("T.min(i, 20)", "i");
  check("T.max(i, 0)", "i");
  check("T.max(i, j + 12)", "j + 12");
  check("T.min(i, 5)", "T.min(i, 5)");
  check("i * 8 + j == 96", "False");
}

// What is asked of an index at each level is asked of all levels below: without a memory of the
// answers, 4^24 questions.
TEST_F(SimplifyTest, SelectsInSelects) {
  Expr e = parse("i"), wanted = e;
  for (int level = 0; level < 24; ++level) {
    e = select(lt(e, parse("a")), e + 1 - 1, e * 2);
    wanted = select(lt(wanted, parse("a")), wanted, wanted * 2);
    if (level < 6) {
      EXPECT_EQ(print(simplify_indices(e, bounds)), print(wanted));
    }
  }
  EXPECT_TRUE(simplify_indices(e, bounds));
}

TEST_F(SimplifyTest, BoundsOfProducts) {
  vars.push_back(make_var("h"));
  bounds.set(vars.back(), {2, std::int64_t{1} << 40});
  check("i * j < 78", "True");
  check("i * j < 77", "i * j < 77");
  check("2 <= (i + 2) * (j + 1)", "True");
  check("n * n < 0", "False");
  check("n * i < 1", "n * i < 1");
  check("a * n < 0", "a * n < 0");
  check("h * h < 0", "False");  // its largest value is not a number of 64 bits
  check("h * h < 5", "h * h < 5");
}

TEST_F(SimplifyTest, SymbolicDivisors) {
  check("(a * n) // n", "a");
  check("(a * n + b) % n", "b % n");
  check("(a * n + b) // n", "a + b // n");
  check("a // n * n + a % n", "a");
  check("a // n * (n * 8) + a % n * 8", "a * 8");
  check("b * (n * 8) + a // n * n + a % n", "b * (n * 8) + a");
  check("a // (n * n * 4) * n * n * 4 + a % (n * n * 4)", "a");
  check("a // n % 8 * n + a % n", "a % (n * 8)");
  check("a // n * b + a % n", "a // n * b + a % n");
  check("a // b * b + a % b", "a // b * b + a % b");  // b may be zero
  check("a // n % b * n + a % n", "a // n % b * n + a % n");
  check("a * b // b", "a * b // b");  // b may be zero
  check("a * i // i", "a * i // i");
  check("s * s // s", "s * s // s");
}

TEST_F(SimplifyTest, Algebra) {
  check("a + 0 - a + b * 1", "b");
  check("s * T.int32(1) + T.int32(0)", "s");
  check("T.int32(3) + s + T.int32(4)", "s + T.int32(7)");
  check("f * 1.0 - 0.0", "f");
  check("f + 0.0", "f + 0.0");  // -0.0 + 0.0 is 0.0
  check("f * 0.0", "f * 0.0");  // NaN
  check("f - (-g)", "f + g");
  check("-(-f)", "f");
  check("f / 4.0", "f * 0.25");
  check("f / 3.0", "f / 3.0");
  check("T.pow(f, 3.0)", "f * f * f");
  check("T.exp(0.0) + f", "1.0 + f");
  check("f == f", "f == f");
  check("not (not p)", "p");
  check("not (a < b) or False", "b <= a");
  check("not (f < g)", "not f < g");  // NaN
  check("p and True or p", "p");
  check("T.if_then_else(not p, f, g)", "T.if_then_else(p, g, f)");
  check("T.min(T.min(f, 3.0), 2.0)", "T.min(f, 2.0)");
}

TEST_F(SimplifyTest, EveryRuleIsTriedAndHolds) {
  // Each rule with values for its variables: both sides give the same.
  for (const Rule& rule : rules()) {
    if (rule.types == Rule::For::kFloats) continue;  // their patterns are int64 in form only
    for (std::int64_t seed = 1; seed < 60; ++seed) {
      Evaluator evaluate;
      std::int64_t next = seed, c = 0, d = 0;
      for_each_node(rule.before, [&](const Expr& e) {
        const auto* v = e.as<Var>();
        if (v == nullptr) return;
        next = next * 37 % 101;
        std::int64_t value = v->dtype.is_bool() ? next % 2 : next % 19 - 9;
        if (value == 0 && !v->dtype.is_bool()) value = 7;  // a divisor, perhaps
        if (v->name == "c") c = value;
        if (v->name == "d") d = value;
        evaluate.set(e, int_imm(value, v->dtype));
      });
      if (rule.condition != nullptr &&
          !rule.condition(static_cast<double>(c), static_cast<double>(d))) {
        continue;
      }
      EXPECT_EQ(evaluate.index(rule.before), evaluate.index(rule.after)) << rule.name;
    }
  }
}

TEST_F(SimplifyTest, StatementsLoseWhatDoesNothing) {
  const auto f = parse_prim_func(R"(@T.prim_func
def f(x: T.Buffer((8, 6), "float32"), *, y: T.Buffer((48,), "float32")):
  for i in T.parallel(8):
    for j in T.serial(6):
      for once in T.serial(2, 3):
        t = T.alloc_buffer((), "float32", scope="stack")
        unused: T.float32 = x[i, j] * 2.0
        two: T.float32 = 1.0 + 1.0
        if i * 6 + j < 48:
          y[i * 6 + j] = x[(i * 6 + j) // 6, (i * 6 + j) % 6] * two
        else:
          y[0] = 0.0
  for i in T.serial(0):
    y[i] = 0.0
)");
  ASSERT_TRUE(f) << render(f.error());
  EXPECT_EQ(print(simplify(*f), "f"), R"(@T.prim_func
def f(x: T.Buffer((8, 6), "float32"), *, y: T.Buffer((48,), "float32")):
  for i in T.parallel(8):
    for j in T.serial(6):
      t = T.alloc_buffer((), "float32", scope="stack")
      y[i * 6 + j] = x[i, j] * 2.0
)");
}

// The value as text, or nothing where it is undefined (overflow).
std::optional<std::string> value_of(Evaluator& evaluate, const Expr& e) {
  try {
    const Expr v = evaluate.value(e);
    return print(v);
  } catch (const InternalError&) {
    return std::nullopt;
  }
}

TEST(SimplifyFuzz, RandomExpressionsKeepTheirValue) {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    RandomFunctions random(seed);
    Bounds bounds;
    for (const char* name : {"i", "j", "k"}) {
      random.vars.push_back(make_var(name));
      bounds.set(random.vars.back(), {0, 7});
    }
    const Expr before = random.expr(seed % 3 == 0 ? kBool : kInt64, 5);
    const Expr after = simplify(before, bounds);
    ASSERT_TRUE(simplify(after, bounds).same_as(after)) << "seed " << seed << " " << print(after);
    for (int trial = 0; trial < 12; ++trial) {
      Evaluator evaluate;
      for (const Expr& v : random.vars) evaluate.set(v, Expr(random.below(8)));
      const auto want = value_of(evaluate, before);
      if (!want) continue;
      EXPECT_EQ(value_of(evaluate, after), want) << "seed " << seed << "\n"
                                                 << print(before) << "\n"
                                                 << print(after);
    }
  }
}

}  // namespace
}  // namespace tessera::tir
