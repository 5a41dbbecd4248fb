// SPDX-License-Identifier: Apache-2.0
// The candidates that rules propose (relay-spec 9.6): sets of nodes by their post-DFS index.
#include "collage/rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collage/labels.h"
#include "collage/specs.h"
#include "collage/testing/graphs.h"
#include "collage/testing/texts.h"

namespace tessera::collage {
namespace {

using relay::CompositePattern;
using relay::is_op;
using relay::OpPattern;
using relay::wildcard;
using testing::NamedGraph;
using testing::spec_of;
using testing::texts_of;
using Texts = std::vector<std::string>;

Texts sorted(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}
Texts sorted_texts(const std::vector<Candidate>& candidates) {
  return sorted(texts_of(candidates));
}

// What `more` has and `less` has not.
Texts difference(const std::vector<Candidate>& more, const std::vector<Candidate>& less) {
  Texts out;
  const Texts a = sorted_texts(more), b = sorted_texts(less);
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

const Combiner kAnyPair = combine_by_kind({{OpPattern::kOutFusable, OpPattern::kBroadcast}});

TEST(Rules, PatternsMatchAtEachNode) {
  const NamedGraph g(testing::kChain);
  const CompositePattern relu{"relu", is_op("nn.relu", {wildcard()}), {}};
  const CompositePattern two{
      "two", is_op("nn.relu", {is_op("nn.relu", {wildcard()}) | is_op("abs", {wildcard()})}), {}};
  const PlacementSpec spec = spec_of("example_target_hook");
  EXPECT_EQ(texts_of(match_pattern(relu, nullptr)(g.graph, spec).value()), (Texts{"{4}", "{5}"}));
  EXPECT_EQ(texts_of(match_pattern(two, nullptr)(g.graph, spec).value()),
            (Texts{"{3,4}", "{4,5}"}));
}

TEST(Rules, ChecksRefuse) {
  const NamedGraph g(testing::kChain);
  const CompositePattern second{"relu", is_op("nn.relu", {is_op("nn.relu", {wildcard("x")})}),
                                [](const relay::Match& m, const Target& target) {
                                  return target.name() == "cpu" || !m.find("x")
                                             ? std::optional<relay::Refusal>{{"not there"}}
                                             : std::nullopt;
                                }};
  const Rule rule = match_pattern(second, nullptr);
  EXPECT_EQ(texts_of(rule(g.graph, spec_of("blas")).value()), (Texts{"{4,5}"}));
  EXPECT_EQ(texts_of(rule(g.graph, spec_of("cpu")).value()), (Texts{}));
}

// A constant that the pattern names is inside, one that a wildcard takes is not; a scalar is a
// leaf.
TEST(Rules, ConstantsOfPatterns) {
  const NamedGraph g(testing::kLinearGelu, testing::linear_gelu_constants());
  const PlacementSpec spec = spec_of("blas");
  const auto texts = [&](const relay::Pattern& pattern) {
    const CompositePattern composite{"p", pattern, {}};
    return texts_of(match_pattern(composite, nullptr)(g.graph, spec).value());
  };
  const auto either = [] { return relay::is_constant() | wildcard(); };
  EXPECT_EQ(texts(is_op("nn.dense", {wildcard(), either()})), (Texts{"{5,6}"}));
  EXPECT_EQ(texts(is_op("nn.dense", {wildcard(), wildcard()})), (Texts{"{6}"}));
  EXPECT_EQ(texts(is_op("power", {either(), either()})), (Texts{"{15}"}));
}

TEST(Rules, WrappersNestSubGraphs) {
  const NamedGraph g(testing::kChain);
  const CompositePattern relu{"relu", is_op("nn.relu", {wildcard()}), {}};
  const PlacementSpec spec = spec_of("example_target_hook");
  const auto candidates =
      as_primitive(as_composite("relu", match_pattern(relu, nullptr)))(g.graph, spec).value();
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].rule, "relu");
  const auto& outer = candidates[0].sub_graph.nested();
  ASSERT_EQ(outer.size(), 1u);
  EXPECT_EQ(outer[0].attrs.int_or_zero("Primitive"), 1);
  EXPECT_EQ(outer[0].attrs.string_or_empty("Compiler"), "example_target_hook");
  const auto& inner = outer[0].sub_graph.nested();
  ASSERT_EQ(inner.size(), 1u);
  EXPECT_EQ(inner[0].attrs.string_or_empty("Composite"), "relu");
  const PlacementSpec machine = spec_of("cpu");
  const auto native = as_primitive(match_pattern(relu, nullptr))(g.graph, machine).value();
  EXPECT_EQ(native[0].sub_graph.nested()[0].attrs.find("Compiler"), nullptr);
}

TEST(Rules, CallsThatMayBeFused) {
  const NamedGraph g(R"(
def @main(%x: Tensor[(?, 10), float32]) {
  %0 = abs(%x);
  %1 = add(%0, %x);
  shape_of(%1)
})");
  EXPECT_EQ(texts_of(fusible_calls()(g.graph, spec_of("cpu")).value()), (Texts{"{4}", "{5}"}));
}

// 11 calls, 10 pairs, 7 triples and one of four: what was there before is not begun with again, so
// that {9,11,18} and the like are not found.
TEST(Rules, TheClosureOfALayerHas29) {
  const NamedGraph g(testing::kLinearGelu, testing::linear_gelu_constants());
  const PlacementSpec spec = spec_of("cpu");
  const Rule closure = combined(fusible_calls(), {kAnyPair}, 3);
  const Texts wanted = {"{6}",        "{8}",        "{9}",        "{11}",        "{15}",
                        "{17}",       "{18}",       "{20}",       "{21}",        "{23}",
                        "{24}",       "{6,8}",      "{9,11}",     "{9,15}",      "{11,24}",
                        "{15,17}",    "{17,18}",    "{18,20}",    "{20,21}",     "{21,23}",
                        "{23,24}",    "{9,11,15}",  "{9,15,17}",  "{15,17,18}",  "{17,18,20}",
                        "{18,20,21}", "{20,21,23}", "{21,23,24}", "{9,11,15,17}"};
  EXPECT_EQ(sorted_texts(closure(g.graph, spec).value()), sorted(wanted));
}

TEST(Rules, OfTheClosure19AreValid) {
  const NamedGraph g(testing::kLinearGelu, testing::linear_gelu_constants());
  const PlacementSpec spec = spec_of("cpu");
  const Rule closure = combined(fusible_calls(), {kAnyPair}, 3);
  const Texts wanted = {"{6}",     "{8}",     "{9}",     "{11}",    "{15}",   "{17}",    "{18}",
                        "{20}",    "{21}",    "{23}",    "{24}",    "{6,8}",  "{11,24}", "{15,17}",
                        "{17,18}", "{18,20}", "{20,21}", "{21,23}", "{23,24}"};
  EXPECT_EQ(sorted_texts(only_valid(closure, {1, false, 2})(g.graph, spec).value()),
            sorted(wanted));
  EXPECT_EQ(only_valid(closure, {1, false, 3})(g.graph, spec).value().size(), 24u);
}

TEST(Rules, ConstantsJoinWhatReadsThem) {
  const NamedGraph g(testing::kLinearGelu, testing::linear_gelu_constants());
  const PlacementSpec spec = spec_of("cpu");
  const Combiner kinds = combine_by_kind({{OpPattern::kOutFusable, OpPattern::kBroadcast},
                                          {OpPattern::kBroadcast, OpPattern::kCommReduce},
                                          {OpPattern::kInjective, OpPattern::kInjective}});
  const Texts texts =
      texts_of(combined(fusible_calls(), {kinds, combine_constants()}, 3)(g.graph, spec).value());
  for (const char* wanted : {"{5,6}", "{7,8}", "{8,9}"}) {
    EXPECT_NE(std::find(texts.begin(), texts.end(), wanted), texts.end()) << wanted;
  }
}

TEST(Rules, TuplesJoinWhatMakesTheirFields) {
  const NamedGraph g(testing::kHalves);
  const PlacementSpec spec = spec_of("cpu");
  const auto calls = fusible_calls()(g.graph, spec).value();
  EXPECT_EQ(
      difference(combined(fusible_calls(), {combine_tuple_arguments()}, 0)(g.graph, spec).value(),
                 calls),
      (Texts{"{10,14..16}"}));
  EXPECT_EQ(difference(combined(fusible_calls(), {combine_projections()}, 0)(g.graph, spec).value(),
                       calls),
            sorted({"{6,7}", "{6,11}", "{6,7,11}"}));
}

TEST(Rules, TheHostHasWhatNeedsNoKernel) {
  const NamedGraph g(testing::kHalves);
  const PlacementSpec spec = spec_of("cpu");
  const auto candidates = host_nodes()(g.graph, spec).value();
  EXPECT_EQ(texts_of(candidates),
            (Texts{"{0}", "{1}", "{2}", "{3}", "{4}", "{5}", "{7}", "{11}", "{15}", "{17}"}));
  for (const Candidate& c : candidates) EXPECT_EQ(to_string(c.cost), "0");
}

// A field that occurs twice is made once.
TEST(Rules, ATupleOfOneValueTwice) {
  const NamedGraph g(R"(
def @main(%x: Tensor[(10, 10), float32]) {
  %0 = abs(%x);
  %1 = (%0, %0);
  concatenate(%1)
})");
  const PlacementSpec spec = spec_of("cpu");
  const auto candidates =
      combined(fusible_calls(), {combine_tuple_arguments()}, 0)(g.graph, spec).value();
  EXPECT_EQ(texts_of(candidates), (Texts{"{3}", "{5}", "{3..5}"}));
}

TEST(Rules, BackEndsSayWhatMayBeCombined) {
  const NamedGraph g(testing::kChain);
  relay::PatternTable table{"blas", {{"relu", is_op("nn.relu", {wildcard()}), {}}}, {}};
  const std::vector<Target> targets = {Target("blas")};
  const auto candidates = [&](relay::Combining combining, std::size_t depth) {
    table.combining = combining;
    const std::vector<relay::PatternTable> tables = {table};
    const Specs specs = make_specs(targets, tables, g.module.constants, {8, depth}).value();
    return texts_of(specs[0]->rule(g.graph, *specs[0]).value());
  };
  EXPECT_EQ(candidates(relay::Combining::kNone, 8), (Texts{"{4}", "{5}"}));
  EXPECT_EQ(candidates(relay::Combining::kByKind, 8), (Texts{"{4}", "{5}", "{4,5}"}));
  EXPECT_EQ(candidates(relay::Combining::kAny, 8), (Texts{"{4}", "{5}", "{4,5}"}));
  EXPECT_EQ(candidates(relay::Combining::kAny, 1), (Texts{"{4}", "{5}"}));
}

// Twelve branches of three operators, of which each may go with the end or not.
TEST(Rules, TooManyWaysToCombineAreRefused) {
  std::string text = "def @main(%x: Tensor[(10, 10), float32]) {\n", fields;
  for (int i = 0; i < 12; ++i) {
    text += fmt::format("  %{0} = exp(%x);\n  %{1} = abs(%{0});\n  %{2} = nn.relu(%{1});\n", 3 * i,
                        3 * i + 1, 3 * i + 2);
    fields += fmt::format("{}%{}", i == 0 ? "" : ", ", 3 * i + 2);
  }
  text += "  %90 = (" + fields + ");\n  %91 = concatenate(%90);\n  %92 = abs(%91);\n  abs(%92)\n}";
  const NamedGraph g(text);
  const std::vector<Target> targets = {Target("cpu")};
  const Specs specs = make_specs(targets, {}, g.module.constants, {8, 8}).value();
  const auto refused = specs[0]->rule(g.graph, *specs[0]);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().list[0].code, Code::kLimitExceeded);
}

TEST(Labels, JoinAndNest) {
  EXPECT_EQ(joined_labels("a", "b"), "a+b");
  EXPECT_EQ(joined_labels("", "b"), "b");
  EXPECT_EQ(joined_labels("a", ""), "a");
  EXPECT_EQ(nested_labels("a", "b"), "a.b");
  EXPECT_EQ(nested_labels("a", "a.b"), "a.b");
  EXPECT_EQ(nested_labels("a", "a"), "a.a");
  EXPECT_EQ(nested_labels("", "b"), "b");
  EXPECT_EQ(nested_labels("a", ""), "a");
}

}  // namespace
}  // namespace tessera::collage
