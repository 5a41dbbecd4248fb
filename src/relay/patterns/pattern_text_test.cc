// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/pattern_text.h"

#include <gtest/gtest.h>

#include "relay/testing/operators.h"

namespace tessera::relay {
namespace {

Result<std::vector<PatternTable>> read(const std::string& text) {
  return parse_patterns(std::make_shared<const SourceFile>(SourceFile{"my.patterns", text}),
                        testing::operators());
}

// What is read prints as `printed` (the same, if that is empty), and that reads back equal.
void check_round_trip(const std::string& text, std::string printed = {}) {
  SCOPED_TRACE(text);
  if (printed.empty()) printed = text;
  const auto wrap = [](const std::string& p) { return "table t { composite \"p\" " + p + " }"; };
  const auto first = read(wrap(text));
  ASSERT_TRUE(first) << render(first.error());
  const Pattern& pattern = first->front().composites.front().pattern;
  EXPECT_EQ(print(pattern), printed);
  const auto again = read(wrap(print(pattern)));
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_TRUE(structural_equal(pattern, again->front().composites.front().pattern));
}

TEST(PatternText, EveryKindReadsBack) {
  for (const char* text : {
           " = *;",
           " = constant;",
           " = var;",
           " = var(\"x\");",
           " = @f(*);",
           " = add(*, constant | *);",
           " = (add | multiply)(*, *);",
           " = add | multiply | exp;",
           " = add | (multiply | exp);",
           " = nn.relu(exp(*))?;",
           " = exp(...);",
           " = *(*);",
           " = (*, constant);",
           " = (*,);",
           " = ();",
           " = (...);",
           " = (...).1;",
           " = split(*).*;",
           " = nn.conv2d(*, *){groups=1, strides=[1, 1]};",
           " = exp{TOpPattern=0}(*);",
           " = exp(*[dtype = float16]);",
           " = exp(*[shape = (1, ?, 3)][dtype = float32]);",
           " = exp(*[type = Tensor[(2, ?n), float32]]);",
           " = exp(*)[type = float32];",
           " = add(*, 2f);",
           " = add(*, -1.5f16);",
           " = add(*, 3i64);",
           " = add(*, True);",
           " = add(*, scalar(0.5));",
           " = add(*, scalar(-3));",
           " = add(*, expr { exp(2f) });",
           " = fn (...) { exp(*) }(*);",
           " = fn (var, *) { exp(*) }{Composite=\"k\"}(*, *);",
           " = if (*) { exp(*) } else { * };",
           " = let(var, *, exp(*));",
           " = dominates(nn.conv2d(*, *), *{TOpPattern=0}(...), add(*, *));",
           " = exp(*) as root;",
           " = (exp(*) | abs(*)) as either;",
           " {\n  %0 = *;\n  multiply(%0, %0)\n}",
           " {\n  %0 = nn.dense(*, *);\n  %1 = add(%0, %0);\n  multiply(%1, erf(%1))\n}",
       }) {
    check_round_trip(text);
  }
}

TEST(PatternText, OneWayToPrint) {
  check_round_trip("{ %x = nn.dense(*, *); nn.relu(%x) }", " = nn.relu(nn.dense(*, *));");
  check_round_trip("{ %x = nn.dense(*, *); nn.relu(%x) | %x }", " = nn.relu(nn.dense(*, *))?;");
  check_round_trip("= ((exp)(((*))));", " = exp(*);");
  check_round_trip("= exp(*[dtype = float16, shape = (2)]);",
                   " = exp(*[dtype = float16][shape = (2)]);");
  check_round_trip("= /* all */ exp(*); // of it\n", " = exp(*);");
}

TEST(PatternText, TablesShareDefinitions) {
  const auto tables = read(R"(
table first {
  %dense = nn.dense(*, *);
  composite "a" = nn.relu(%dense);
  composite "b" { %dense2 = add(%dense, *); nn.relu(%dense2) }
}
table "second one" { composite "c" = exp(*); }
)");
  ASSERT_TRUE(tables) << render(tables.error());
  ASSERT_EQ(tables->size(), 2u);
  EXPECT_EQ(print((*tables)[0]), R"(table "first" {
  composite "a" = nn.relu(nn.dense(*, *));
  composite "b" = nn.relu(add(nn.dense(*, *), *));
}
)");
  EXPECT_EQ((*tables)[1].name, "second one");
}

TEST(PatternText, NamesDistinguishSharing) {
  const auto shared = read("table t { composite \"p\" { %a = *; add(%a, %a) } }");
  const auto apart = read("table t { composite \"p\" = add(*, *); }");
  ASSERT_TRUE(shared && apart);
  EXPECT_FALSE(structural_equal(shared->front().composites[0].pattern,
                                apart->front().composites[0].pattern));
}

std::string message(const std::string& text) {
  const auto tables = read(text);
  EXPECT_FALSE(tables) << text;
  if (tables) return "";
  const Diagnostic& d = tables.error().list.front();
  EXPECT_FALSE(d.remedy.empty()) << text;
  return fmt::format("{}: {}", to_string(d.location), d.message);
}

TEST(PatternText, ErrorsHavePlaceAndRemedy) {
  EXPECT_EQ(message("tabel t {}"), "my.patterns:1:1: expected `table NAME {`, found `tabel`");
  EXPECT_EQ(message("table t {\n  composite p = *;\n}"),
            "my.patterns:2:13: expected the name of the composite, in quotes, found `p`");
  EXPECT_EQ(message("table t {\n  composite \"p\" = nn.dense(*, *)\n}"),
            "my.patterns:3:1: expected `;`, found `}`");
  EXPECT_EQ(message("table t { composite \"p\" = nn.danse(*); }"),
            "my.patterns:1:27: there is no operator `nn.danse`");
  EXPECT_EQ(message("table t { composite \"p\" = exp(%x); }"),
            "my.patterns:1:31: `%x` is not defined");
  EXPECT_EQ(message("table t { composite \"p\" { %x = *; %x = *; exp(%x) } }"),
            "my.patterns:1:35: `%x` is defined twice");
  EXPECT_EQ(message("table t { composite \"p\" = exp(*, *); }"),
            "my.patterns:1:27: `exp` takes 1 operand, found 2");
  EXPECT_EQ(message("table t { composite \"p\" = nn.conv2d(*, *){layout=\"NHWC\"}; }"),
            "my.patterns:1:43: `nn.conv2d` has no attribute `layout`");
  EXPECT_EQ(message("table t { composite \"p\" = *?; }"),
            "my.patterns:1:28: `?` follows a call with arguments: it makes the call optional");
  EXPECT_EQ(message("table t { composite \"p\" = *[size = 3]; }"),
            "my.patterns:1:29: expected `dtype =`, `shape =` or `type =`, found `size`");
  EXPECT_EQ(message("table t { composite \"p\" = *[dtype = real]; }"),
            "my.patterns:1:37: expected a data type, as `float16`, found `real`");
  EXPECT_EQ(message("table t { composite \"p\" = dominates(*, *); }"),
            "my.patterns:1:27: `dominates` has three parts, not 2");
  EXPECT_EQ(message("table t { composite \"p\" = expr { if (True) { 1f } else { 2f } }; }"),
            "my.patterns:1:27: an `expr` is made of calls, constants, tuples, projections and "
            "globals");
  EXPECT_EQ(message("table t {} table t {}"), "my.patterns:1:18: the table `t` is defined twice");
  EXPECT_EQ(message("table t { composite \"p\" = exp(*); "),
            "my.patterns:1:35: expected `}`, found the end of the text");
}

TEST(PatternText, AllErrorsAreReported) {
  const auto tables = read(R"(table t {
  composite "a" = nn.danse(*, *);
  composite "b" = exp(;
  composite "c" = abs(%x);
})");
  ASSERT_FALSE(tables);
  EXPECT_EQ(tables.error().list.size(), 3u);
}

TEST(PatternText, NamesThatAreTaken) {
  std::vector<PatternTable> tables{{"cutlass", {}}};
  const auto file = std::make_shared<const SourceFile>(SourceFile{"f", "table cutlass {}"});
  EXPECT_FALSE(add_patterns(tables, file, testing::operators()));
  EXPECT_EQ(tables.size(), 1u);
}

// Deep patterns neither overflow the stack nor take long to read.
TEST(PatternText, DepthHasALimit) {
  std::string text = "table t { composite \"p\" { %0 = *;\n";
  for (int i = 1; i < 100000; ++i) text += fmt::format("%{} = exp(%{});\n", i, i - 1);
  EXPECT_EQ(message(text + "%99999 } }"),
            "my.patterns:1001:9: the pattern is more than 1000 levels deep");
  std::string nested = "table t { composite \"p\" = ";
  for (int i = 0; i < 100000; ++i) nested += "exp(";
  EXPECT_FALSE(read(nested));
}

TEST(PatternText, DamagedTextsFailInPeace) {
  const std::string whole =
      "table t { %a = nn.dense(*, *)?; composite \"p\" { %b = (add | exp)(%a, 2f); "
      "dominates(%a, *{TOpPattern=0}(...), let(var, *[shape = (2, ?n)], expr { exp(1f) })) } }";
  for (std::size_t i = 0; i < whole.size(); ++i) {
    (void)read(whole.substr(0, i));
    for (const char c : {'(', '}', '?', '.', '%', '"', '\0'}) {
      std::string changed = whole;
      changed[i] = c;
      (void)read(changed);
    }
  }
}

}  // namespace
}  // namespace tessera::relay
