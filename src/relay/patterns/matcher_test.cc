// SPDX-License-Identifier: Apache-2.0
// The rules of matching and grouping, one test a rule (relay-spec 2.4, 2.5). Graphs and patterns
// are text.
#include "relay/patterns/matcher.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "relay/patterns/pattern_groups.h"
#include "relay/patterns/pattern_text.h"
#include "relay/patterns/root_operators.h"
#include "relay/testing/operators.h"
#include "relay/text/parse.h"
#include "relay/text/print.h"

namespace tessera::relay {
namespace {

std::shared_ptr<const SourceFile> source(const std::string& text) {
  return std::make_shared<const SourceFile>(SourceFile{"test", text});
}

// `x`, `y`, `z` and `c` are parameters.
Function graph(const std::string& body) {
  const std::string head =
      "fn (%x: Tensor[(4, 4), float32], %y: Tensor[(4, 4), float32], %z: Tensor[(4, 4), float32], "
      "%c: bool) {\n";
  auto f = parse_function(source(head + body + "\n}"), testing::operators());
  EXPECT_TRUE(f) << render(f.error());
  return std::move(*f);
}

Pattern pattern(const std::string& text) {
  auto tables =
      parse_patterns(source("table t { composite \"p\" " + text + " }"), testing::operators());
  EXPECT_TRUE(tables) << render(tables.error());
  return tables->front().composites.front().pattern;
}

// Does the pattern match the function's result? Then that is a root that it can have.
bool matches(const std::string& pattern_text, const std::string& body) {
  const Function f = graph(body);
  const IndexedGraph g(f);
  const Pattern p = pattern(pattern_text);
  const auto root = static_cast<std::uint32_t>(g.size()) - 2;  // the function itself comes last
  if (!Matcher(g, p, nullptr).match(root)) return false;
  const auto roots = root_operators(p);
  const Operator* op = f.op(f.result());
  EXPECT_TRUE(!roots || (op != nullptr && std::count(roots->begin(), roots->end(), op->name) > 0))
      << pattern_text << body;
  return true;
}

// The composite functions that a pattern makes, the one nearest to the result first.
std::vector<std::string> groups(const std::string& pattern_text, const std::string& body) {
  const Function f = graph(body);
  const IndexedGraph g(f);
  std::vector<std::string> out;
  for (const PatternGroup& group : PatternGrouper(g, pattern(pattern_text), nullptr).run()) {
    out.push_back(print(make_function(g, group, {}), {.types = false}));
  }
  return out;
}

std::vector<std::string> names(const std::string& pattern_text, const std::string& body) {
  const Function f = graph(body);
  const IndexedGraph g(f);
  std::vector<std::string> out;
  for (const PatternGroup& group : PatternGrouper(g, pattern(pattern_text), nullptr).run()) {
    out.push_back(group.name);
  }
  return out;
}

using Texts = std::vector<std::string>;

TEST(Matcher, OneNameIsOneValue) {
  const std::string square = "{ %a = *; multiply(%a, %a) }";
  EXPECT_TRUE(matches(square, "multiply(%x, %x)"));
  EXPECT_FALSE(matches(square, "multiply(%x, %y)"));
  // Two calls with equal operands are two values.
  EXPECT_FALSE(matches(square, "multiply(exp(%x), exp(%x))"));
  EXPECT_TRUE(matches(square, "%0 = exp(%x); multiply(%0, %0)"));
}

TEST(Matcher, WhatFailedIsForgotten) {
  // The left alternative binds %a to %x before it fails.
  const std::string p = "{ %a = *; add(exp(%a), abs(%a)) | add(exp(*), %a) }";
  EXPECT_TRUE(matches(p, "add(exp(%x), abs(%y))"));
  EXPECT_TRUE(matches("{ %a = *; add(%a, exp(%a)) }", "add(exp(%x), %x)"));
}

TEST(Matcher, AddAndMultiplyCommute) {
  EXPECT_TRUE(matches("= add(exp(*), *);", "add(%x, exp(%y))"));
  EXPECT_TRUE(matches("= multiply(exp(*), *);", "multiply(%x, exp(%y))"));
  EXPECT_FALSE(matches("= subtract(exp(*), *);", "subtract(%x, exp(%y))"));
}

TEST(Matcher, AnAlternativeOfOperatorsDoesNotCommute) {
  const std::string p = "= (add | subtract)(exp(*), *);";
  EXPECT_TRUE(matches(p, "add(exp(%x), %y)"));
  EXPECT_TRUE(matches(p, "subtract(exp(%x), %y)"));
  EXPECT_FALSE(matches(p, "add(%x, exp(%y))"));
  // Nor does an operator with attributes.
  EXPECT_FALSE(matches("= add{TOpPattern=1}(exp(*), *);", "add(%x, exp(%y))"));
}

TEST(Matcher, DivisionsAreRegrouped) {
  const std::string product_first = "= divide(multiply(exp(*), abs(*)), sqrt(*));";
  EXPECT_TRUE(matches(product_first, "divide(multiply(exp(%x), abs(%y)), sqrt(%z))"));
  EXPECT_TRUE(matches(product_first, "multiply(abs(%y), divide(exp(%x), sqrt(%z)))"));
  EXPECT_TRUE(matches(product_first, "multiply(exp(%x), divide(abs(%y), sqrt(%z)))"));
  EXPECT_TRUE(matches(product_first, "multiply(divide(abs(%y), sqrt(%z)), exp(%x))"));
  EXPECT_FALSE(matches(product_first, "multiply(exp(%x), divide(sqrt(%z), abs(%y)))"));
  const std::string ratio_first = "= multiply(divide(exp(*), sqrt(*)), abs(*));";
  EXPECT_TRUE(matches(ratio_first, "divide(multiply(exp(%x), abs(%y)), sqrt(%z))"));
  EXPECT_TRUE(matches(ratio_first, "divide(multiply(abs(%y), exp(%x)), sqrt(%z))"));
  EXPECT_FALSE(matches(ratio_first, "divide(multiply(exp(%x), sqrt(%z)), abs(%y))"));
}

TEST(Matcher, APatternTellsTheOperatorsOfItsRoots) {
  const auto roots = [](const std::string& text) -> std::string {
    const Pattern p = pattern(text);
    const auto operators = root_operators(p);
    if (!operators) return "any";
    std::string out;
    for (const std::string_view op : *operators) out += (out.empty() ? "" : " ") + std::string(op);
    return out;
  };
  EXPECT_EQ(roots("= add(exp(*), *);"), "add");
  EXPECT_EQ(roots("= (add | subtract)(exp(*), *) | sqrt(*);"), "add subtract sqrt");
  EXPECT_EQ(roots("= divide(*, *) | abs(*);"), "divide abs multiply");
  EXPECT_EQ(roots("= multiply(*, *);"), "multiply divide");
  EXPECT_EQ(roots("= add(*, *) | *;"), "any");
  EXPECT_EQ(roots("= *(*, *);"), "any");
  EXPECT_EQ(roots("= (*, *);"), "any");
}

TEST(Matcher, ArgumentsMayBeOpen) {
  EXPECT_TRUE(matches("= concatenate(...);", "concatenate((%x, %y))"));
  EXPECT_TRUE(matches("= add(...);", "add(%x, %y)"));
  EXPECT_FALSE(matches("= *(*, *, *);", "add(%x, %y)"));
  EXPECT_TRUE(matches("= *(*, *);", "add(%x, %y)")) << "a callee may be a wildcard";
  EXPECT_TRUE(matches("= concatenate((...));", "concatenate((%x, %y))"));
  EXPECT_FALSE(matches("= concatenate((*, *, *));", "concatenate((%x, %y))"));
}

TEST(Matcher, CalleesAreValues) {
  EXPECT_TRUE(matches("{ %f = *; %f(%f(*)) }", "exp(exp(%x))"));
  EXPECT_FALSE(matches("{ %f = *; %f(%f(*)) }", "exp(abs(%x))"));
  EXPECT_TRUE(matches("= @f(*);", "@f(%x)"));
  EXPECT_FALSE(matches("= @f(*);", "@g(%x)"));
}

TEST(Matcher, FunctionsBranchesAndLets) {
  const std::string literal =
      "%0 = fn (%a: Tensor[(4, 4), float32], Composite=\"k\") { exp(%a) };\n";
  EXPECT_TRUE(matches("= fn (...) { exp(*) }(*);", literal + "%0(%x)"));
  EXPECT_TRUE(matches("= fn (var) { exp(*) }{Composite=\"k\"}(*);", literal + "%0(%x)"));
  EXPECT_FALSE(matches("= fn (...) { exp(*) }{Composite=\"l\"}(*);", literal + "%0(%x)"));
  EXPECT_FALSE(matches("= fn (*, *) { exp(*) }(*);", literal + "%0(%x)"));
  EXPECT_TRUE(matches("= fn (*) { abs(*) | exp(var(\"a\")) }(*);", literal + "%0(%x)"));

  const std::string branch = "if (%c) { exp(%x) } else { %y }";
  EXPECT_TRUE(matches("= if (var(\"c\")) { exp(*) } else { * };", branch));
  EXPECT_FALSE(matches("= if (*) { * } else { exp(*) };", branch));

  const std::string lets = "let %a = exp(%x);\nlet %b = abs(%a);\nadd(%a, %b)";
  EXPECT_TRUE(matches("= let(var(\"a\"), exp(*), let(*, abs(*), add(*, *)));", lets));
  EXPECT_TRUE(matches("{ %a = var; let(%a, *, let(*, abs(%a), *)) }", lets));
  EXPECT_FALSE(matches("= let(var(\"b\"), *, *);", lets));
}

TEST(Matcher, TypesShapesAndData) {
  EXPECT_TRUE(matches("= exp(*[dtype = float32]);", "exp(%x)"));
  EXPECT_FALSE(matches("= exp(*[dtype = float16]);", "exp(%x)"));
  EXPECT_TRUE(matches("= exp(*[shape = (4, 4)]);", "exp(%x)"));
  EXPECT_FALSE(matches("= exp(*[shape = (4, 5)]);", "exp(%x)"));
  EXPECT_TRUE(matches("= exp(*[type = Tensor[(4, 4), float32]]);", "exp(%x)"));
  EXPECT_FALSE(matches("= exp(*[type = float32]);", "exp(%x)"));
}

TEST(Matcher, AttributesOfOperatorsCallsAndFunctions) {
  EXPECT_TRUE(matches("= *{TOpPattern=0}(...);", "exp(%x)"));
  EXPECT_FALSE(matches("= *{TOpPattern=0}(...);", "add(%x, %y)"));
  EXPECT_TRUE(matches("= nn.softmax(*){axis=-1};", "nn.softmax(%x)")) << "defaults count";
  EXPECT_FALSE(matches("= nn.softmax(*){axis=1};", "nn.softmax(%x)"));
  EXPECT_TRUE(matches("= *(...){axis=1};", "nn.softmax(%x, axis=1)"));
  EXPECT_FALSE(matches("= *(...){axis=1};", "exp(%x)"));
  EXPECT_FALSE(matches("= var{axis=1};", "%x"));
}

TEST(Matcher, ConstantsByValue) {
  EXPECT_TRUE(matches("= add(*, 2f);", "add(%x, 2f)"));
  EXPECT_FALSE(matches("= add(*, 2f);", "add(%x, 2f64)")) << "of another data type";
  EXPECT_TRUE(matches("= add(*, scalar(2));", "add(%x, 2f64)"));
  EXPECT_FALSE(matches("= add(*, scalar(2));", "add(%x, 2.5f)"));
  EXPECT_TRUE(matches("= add(*, expr { exp(2f) });", "add(%x, exp(2f))"));
  EXPECT_FALSE(matches("= add(*, expr { exp(2f) });", "add(%x, exp(3f))"));
  EXPECT_FALSE(matches("= add(exp(*), constant);", "add(exp(%x), %y)"));
}

const std::string kDiamond = R"(
  %0 = nn.conv2d(%x, %y);
  %1 = nn.relu(%0);
  %2 = exp(%1);
  %3 = nn.relu(%0);
  add(%2, %3))";
const std::string kDominated = "= dominates(nn.conv2d(*, *), *{TOpPattern=0}(...), add(*, *));";

TEST(Matcher, ADominatorTakesAllWays) {
  EXPECT_TRUE(matches(kDominated, kDiamond));
  EXPECT_TRUE(matches(kDominated, "%0 = nn.conv2d(%x, %y); add(%0, exp(%0))"));
  // One way comes from elsewhere.
  EXPECT_FALSE(matches(kDominated, "%0 = nn.conv2d(%x, %y); add(exp(%0), exp(%z))"));
  // Two parents.
  EXPECT_FALSE(matches(kDominated, "add(nn.conv2d(%x, %y), nn.conv2d(%x, %z))"));
  // Something on the way does not fit.
  EXPECT_FALSE(matches(kDominated, "%0 = nn.conv2d(%x, %y); add(exp(%0), nn.softmax(%0))"));
}

TEST(Matcher, ADominatorPostDominates) {
  // The parent has a use that does not lead to the child.
  const Function f = graph("%0 = nn.conv2d(%x, %y); %1 = add(exp(%0), abs(%0)); (%1, %0)");
  const IndexedGraph g(f);
  Matcher m(g, pattern(kDominated), nullptr);
  for (std::uint32_t i = 0; i < g.size(); ++i) EXPECT_FALSE(m.match(i));
}

TEST(Matcher, LongWaysAreWalkedWithoutRecursion) {
  FunctionBuilder b;
  const Type t = tensor_type({4, 4}, kFloat32);
  const NodeId x = b.param("x", t), w = b.param("w", t);
  const NodeId conv = b.call(testing::op("nn.conv2d"), {x, w});
  NodeId left = conv, right = conv;
  for (int i = 0; i < 45000; ++i) {
    left = b.call(testing::op("exp"), {left});
    right = b.call(testing::op("abs"), {right});
  }
  const Function f = b.finish(b.call(testing::op("add"), {left, right}));
  const IndexedGraph g(f);
  const auto found = PatternGrouper(g, pattern(kDominated), nullptr).run();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].inside.size(), 90002u);
  EXPECT_EQ(found[0].match.inputs, (std::vector{x, w}));
}

TEST(Groups, DominatorsTakeWhatIsBetween) {
  EXPECT_EQ(groups(kDominated, kDiamond),
            (Texts{R"(fn (%FunctionVar_0_0: Tensor[(4, 4), float32], )"
                   R"(%FunctionVar_0_1: Tensor[(4, 4), float32], )"
                   R"(PartitionedFromPattern="nn.conv2d_nn.relu_exp_nn.relu_add_") {
  %0 = nn.conv2d(%FunctionVar_0_0, %FunctionVar_0_1);
  %1 = nn.relu(%0);
  %2 = exp(%1);
  %3 = nn.relu(%0);
  add(%2, %3)
})"}));
}

TEST(Groups, InputsComeInTheOrderOfThePattern) {
  EXPECT_EQ(groups("= add(exp(*), *);", "add(%x, exp(%y))"),
            (Texts{R"(fn (%FunctionVar_0_0: Tensor[(4, 4), float32], )"
                   R"(%FunctionVar_0_1: Tensor[(4, 4), float32], )"
                   R"(PartitionedFromPattern="exp_add_") {
  %0 = exp(%FunctionVar_0_0);
  add(%FunctionVar_0_1, %0)
})"}));
}

TEST(Groups, ConstantsAreEmbeddedByTheLeafThatMatches) {
  const auto names_of_inputs = [](const std::string& text, const std::string& body) {
    const Function f = graph(body);
    const IndexedGraph g(f);
    return PatternGrouper(g, pattern(text), nullptr).run().at(0).inputs.size();
  };
  EXPECT_EQ(names_of_inputs("= add(*, constant);", "add(%x, 2f)"), 1u);
  EXPECT_EQ(names_of_inputs("= add(*, 2f);", "add(%x, 2f)"), 1u);
  EXPECT_EQ(names_of_inputs("= add(*, *);", "add(%x, 2f)"), 2u);
  EXPECT_EQ(names_of_inputs("= add(*, constant | *);", "add(%x, 2f)"), 1u);
  EXPECT_EQ(names_of_inputs("= add(*, constant | *);", "add(%x, %y)"), 2u);
  EXPECT_EQ(names_of_inputs("= add(*, * | constant);", "add(%x, 2f)"), 2u) << "left first";
  EXPECT_EQ(names_of_inputs("= add(...);", "add(%x, 2f)"), 2u);
  EXPECT_EQ(names_of_inputs("= add(*, *);", "add(%x, %x)"), 1u) << "one for each input";
}

TEST(Groups, NamesFollowEvaluation) {
  EXPECT_EQ(names("= concatenate((exp(*), *));", "concatenate((exp(%x), %y))"),
            (Texts{"exp_Tuple_concatenate_"}));
  EXPECT_EQ(names("= exp((*, *).1);", "exp((%x, %y).1)"), (Texts{"Tuple_TupleGetItem1_exp_"}));
  const std::string literal = "%0 = fn (%a: Tensor[(4, 4), float32]) { exp(%a) };\n";
  EXPECT_EQ(names("= abs(fn (*) { * }(*));", literal + "abs(%0(%x))"),
            (Texts{"exp_FunctionCall_abs_"}));
  EXPECT_EQ(names("= abs(if (*) { * } else { * });", "abs(if (%c) { %x } else { %y })"),
            (Texts{"If_abs_"}));
}

TEST(Groups, HigherRootsComeFirst) {
  // The last two of three calls in a row are one group.
  EXPECT_EQ(names("= exp(exp(*));", "exp(exp(exp(%x)))"), (Texts{"exp_exp_"}));
  EXPECT_EQ(names("= exp(exp(*));", "exp(exp(exp(exp(%x))))"), (Texts{"exp_exp_", "exp_exp_"}));
}

TEST(Groups, OutsideUsesReject) {
  const std::string p = "= abs(exp(*));";
  EXPECT_EQ(names(p, "%0 = exp(%x); (abs(%0), %0)"), Texts{});
  EXPECT_EQ(names(p, "%0 = exp(%x); add(abs(%0), %0)"), Texts{});
  EXPECT_EQ(names(p, "%0 = exp(%x); %1 = abs(%0); add(%1, %1)"), (Texts{"exp_abs_"}));
  // The result of the function is a use.
  EXPECT_EQ(names("= abs(exp(*));", "exp(%x)"), Texts{});
}

TEST(Groups, UsesThatLeadToTheRootAreTolerated) {
  EXPECT_EQ(names("= add(exp(*), *);", "%0 = exp(%x); add(%0, sqrt(%0))"), (Texts{"exp_add_"}));
  EXPECT_EQ(names("= add(exp(*), *);", "%0 = exp(%x); %1 = sqrt(%0); (add(%0, %1), %1)"), Texts{});
}

TEST(Groups, OverlapsReject) {
  // Each of the two sums would need the product %0: the later one takes it.
  EXPECT_EQ(names("= add(multiply(*, *), multiply(*, *));",
                  "%0 = multiply(%x, %y); %1 = add(%0, %0); add(multiply(%1, %x), %0)"),
            (Texts{"multiply_multiply_add_"}));
}

TEST(Groups, PartitionedFunctionsAreLeft) {
  const std::string body =
      "%0 = fn (%a: Tensor[(4, 4), float32], PartitionedFromPattern=\"exp_\") { exp(%a) };\n"
      "abs(%0(exp(%x)))";
  EXPECT_EQ(names("= exp(*);", body), (Texts{"exp_"})) << "the one outside";
}

TEST(Groups, NothingToComputeIsNoGroup) {
  EXPECT_EQ(names("= *;", "exp(%x)"), Texts{});
  EXPECT_EQ(names("= var;", "exp(%x)"), Texts{});
  EXPECT_EQ(names("= fn (...) { * };", "%0 = fn (%a: Tensor[(4, 4), float32]) { exp(%a) }; %0(%x)"),
            Texts{});
}

TEST(Matcher, SaysWhereItCameFurthest) {
  const Function f = graph("nn.relu(add(exp(%x), %y))");
  const IndexedGraph g(f);
  const auto why = [&](const std::string& text) {
    Matcher m(g, pattern(text), nullptr);
    EXPECT_FALSE(m.match(static_cast<std::uint32_t>(g.size()) - 2));
    return m.why_not();
  };
  EXPECT_EQ(why("= nn.relu(add(abs(*), constant));"), "the operator `exp` is not `abs`");
  EXPECT_EQ(why("= nn.relu(add(exp(*), constant));"), "the parameter `%y` is not `constant`");
  EXPECT_EQ(
      why("= nn.relu(*[dtype = float16]);"),
      "a call of `add` does not fit `*[dtype = float16]`: it is not a tensor of a known type");
  EXPECT_EQ(why("= nn.relu(exp(*));"), "the operator `add` is not `exp`");
}

}  // namespace
}  // namespace tessera::relay
