// SPDX-License-Identifier: Apache-2.0
// Every error has a code and a place; no text, however damaged, does anything worse.
#include "relay/text/testing/text.h"
#include "support/files.h"
#include "support/testing/mutator.h"

namespace tessera::relay {
namespace {

std::string errors_of(std::string_view definitions) {
  return testing::errors_of(testing::module_source(definitions));
}

const std::string kSuffixes =
    ": literals are int16, int32, int64, float16, float32 or float64, with `i16`, none, `i64`, "
    "`f16`, `f`, `f64`";

TEST(ParseErrors, SyntaxWithItsPlace) {
  EXPECT_EQ(testing::errors_of(testing::source("def @main() { () }")),
            "E0201 1:1 the text does not begin with its version");
  EXPECT_EQ(testing::errors_of(testing::source("#[version = \"0.0.6\"]\n")),
            "E0201 1:1 this version of the text is not known");
  EXPECT_EQ(errors_of("def @main( { () }"), "E0201 2:12 expected `)`, found `{`");
  EXPECT_EQ(errors_of("def @main() { abs(1 }"), "E0201 2:21 expected `)`, found `}`");
  EXPECT_EQ(errors_of("def @main() { abs }"),
            "E0201 2:19 expected the arguments of `abs` in parentheses, found `}`");
  EXPECT_EQ(errors_of("def @main() { %0 = 1 %0 }"), "E0201 2:22 expected `;`, found `%0`");
  EXPECT_EQ(errors_of("def @main() { () "), "E0201 2:18 expected `}`, found the end of the text");
  EXPECT_EQ(errors_of("def @main(a=\"x) { () }"),
            "E0201 2:13 expected the value of an attribute, found a string that is not closed");
  EXPECT_EQ(errors_of("def @main() { () } /* open"),
            "E0201 2:20 expected `def`, found a comment that is not closed");
  EXPECT_EQ(errors_of("hello"), "E0201 2:1 expected `def`, found `hello`");
  EXPECT_EQ(errors_of("def @main() { let %x = 1; }"),
            "E0201 2:27 expected an expression, found `}`");
  EXPECT_EQ(errors_of("#[symbol 1 = 2]\n"),
            "E0201 2:1 a symbol is declared as `#[symbol NAME = MIN..MAX step N : LIKELY]`");
}

TEST(ParseErrors, SeveralAreReportedAtOnce) {
  EXPECT_EQ(errors_of("def @a() { foo(%x) }\ndef @b( { }\ndef @c() { abs(1, 2) }"),
            "E0206 2:16 `%x` has not been declared\n"
            "E0205 2:12 there is no operator `foo`\n"
            "E0201 3:9 expected `)`, found `{`\n"
            "E0207 4:12 `abs` takes 1 operand, found 2");
}

TEST(ParseErrors, NamesAndBindings) {
  EXPECT_EQ(errors_of("def @main() { %3 }"), "E0206 2:15 `%3` has not been bound before");
  EXPECT_EQ(errors_of("def @main() { %0 = 1; %0 = 2; %0 }"),
            "E0209 2:23 `%0` is bound twice: numbers are unique in the whole text");
  EXPECT_EQ(errors_of("def @a() { %0 = 1; %0 }\ndef @b() { %0 }"),
            "E0206 3:12 `%0` belongs to another function");
  EXPECT_EQ(
      errors_of("def @a(%c: bool) { %1 = if (%c) { %0 = 1; %0 } else { 2 }; add(%0, %1) }"),
      "E0214 2:64 `%0` is bound inside a branch or function literal that ends before this use");
  EXPECT_EQ(errors_of("def @a() { 1 }\ndef @a() { 2 }"), "E0209 3:5 `@a` is defined twice");
  EXPECT_EQ(errors_of("def @a(%x: int32, %x: int32) { 1 }"),
            "E0209 2:19 the parameter `%x` is declared twice");
  EXPECT_EQ(errors_of("def @a(k=1, k=2) { 1 }"), "E0209 2:13 the attribute `k` is given twice");
}

TEST(ParseErrors, OperatorsAndAttributes) {
  EXPECT_EQ(errors_of("def @a(%x: int32) { nn.softmax(%x, axes=1) }"),
            "E0208 2:21 `nn.softmax`: unknown attribute `axes`; it has: axis");
  EXPECT_EQ(errors_of("def @a(%x: int32) { reshape(%x) }"),
            "E0208 2:21 `reshape`: attribute `newshape` is missing");
  EXPECT_EQ(errors_of("def @a(%x: int32) { nn.pad() }"),
            "E0207 2:21 `nn.pad` takes 1 to 2 operands, found 0");
}

TEST(ParseErrors, Literals) {
  EXPECT_EQ(errors_of("def @a() { 1.5 }"),
            "E0210 2:12 `1.5` has a fraction or an exponent but no `f` after it, as in `1.5f`");
  EXPECT_EQ(errors_of("def @a() { 40000i16 }"), "E0210 2:12 `40000i16` does not fit int16");
  EXPECT_EQ(errors_of("def @a() { 9223372036854775808 }"),
            "E0210 2:12 `9223372036854775808` does not fit int64");
  EXPECT_EQ(errors_of("def @a(%x: int32, A=40000i16) { %x }"),
            "E0210 2:21 `40000i16` does not fit int16");
  EXPECT_EQ(errors_of("def @a() { 1e39f }"), "E0210 2:12 `1e39f` does not fit float32");
  EXPECT_EQ(errors_of("def @a() { 70000f16 }"), "E0210 2:12 `70000f16` does not fit float16");
  EXPECT_EQ(errors_of("def @a() { 1f33 }"),
            "E0210 2:12 `1f33` has the unknown suffix `f33`" + kSuffixes);
}

// Relay's lexer ends at any other width than 16, 32 and 64.
TEST(ParseErrors, LiteralsOfTypesThatHaveNone) {
  EXPECT_EQ(errors_of("def @a() { add(1, 42i8) }"),
            "E0210 2:19 `42i8` has the unknown suffix `i8`" + kSuffixes);
  EXPECT_EQ(errors_of("def @a(%x: int32, A=7u8) { %x }"),
            "E0210 2:21 `7u8` has the unknown suffix `u8`" + kSuffixes);
  EXPECT_EQ(errors_of("def @a() { 1.5bf16 }"),
            "E0210 2:12 `1.5bf16` has the unknown suffix `bf16`" + kSuffixes);
}

TEST(ParseErrors, AttributesOfCallsThatCallNoOperator) {
  EXPECT_EQ(errors_of("def @a(%x: int32) { @b(%x, axis=1) }"),
            "E0208 2:23 attributes of a call that calls no operator need `attrs_type_key` beside "
            "them");
  EXPECT_EQ(errors_of("def @a(%x: int32) { @b(%x, axis=1, attrs_type_key=\"relay.attrs.A\") }"),
            "");
}

TEST(ParseErrors, TypesAndDimensions) {
  EXPECT_EQ(errors_of("def @a(%x: Tensor[(-1), int32]) { %x }"),
            "E0213 2:20 `-1` is not a size: a size is an integer from 0 to 2^63 - 1");
  EXPECT_EQ(errors_of("def @a(%x: Tensor[(4294967296, 4294967296), int32]) { %x }"),
            "E0213 2:12 the number of elements of this tensor overflows 64 bits");
  EXPECT_EQ(errors_of("def @a(%x: Tensor[(?(1+)), int32]) { %x }"),
            "E0213 2:20 `?(1+)` is not a dimension: write `?`, `?seq` or `?(2*seq+1)`");
  EXPECT_EQ(errors_of("def @a(%x: Tensor[(1), int33]) { %x }"),
            "E0204 2:24 `int33` is not a data type");
}

TEST(ParseErrors, WhatIsNotSupportedSaysSo) {
  EXPECT_EQ(errors_of("type List[A] { Nil, }"), "E0202 2:1 algebraic data types are not supported");
  EXPECT_EQ(errors_of("def @a[T](%x: T) { %x }"), "E0202 2:7 type parameters are not supported");
  EXPECT_EQ(errors_of("def @a(%x: List) { %x }"),
            "E0202 2:12 `List` is not a data type; type variables and algebraic data types are not "
            "supported");
  EXPECT_EQ(errors_of("def @a() { ref(1) }"), "E0202 2:12 `ref` is not supported");
  EXPECT_EQ(errors_of("def @a() { match (1) { } }"), "E0202 2:12 `match` is not supported");
  EXPECT_EQ(errors_of("def @a() { free_var %x; %x }"),
            "E0202 2:12 free variables are not supported");
  EXPECT_EQ(errors_of("def @a() { meta[relay.attrs.X][0] }"),
            "E0202 2:12 a `relay.attrs.X` from the metadata section is not supported");
}

TEST(ParseErrors, Metadata) {
  EXPECT_EQ(errors_of("def @a() { meta[relay.Constant][0] }"),
            "E0211 2:12 `meta[relay.Constant][0]` has no entry: there are 0 constants");
  EXPECT_EQ(errors_of("def @a() { 1 }\n#[metadata]\n{"),
            "E0211 3:1 the metadata section is not JSON text");
  EXPECT_EQ(errors_of("def @a() { 1 }\n#[metadata]\n{\"root\": 1, \"nodes\": []}"),
            "E0211 3:1 the metadata section cannot be read: its root is not a map from type keys "
            "to arrays");
}

TEST(ParseErrors, CapturesOfPrimitiveLiterals) {
  EXPECT_EQ(
      errors_of("def @a(%x: int32) { (fn (Primitive=1) { abs(%x) })() }"),
      "E0214 2:22 a function literal with `Primitive` uses a value from outside; such literals "
      "take all that they read as parameters");
}

TEST(ParseErrors, NestingHasALimit) {
  // The innermost value is one of the 400.
  const std::pair<std::string, std::string> pairs[] = {
      {"(", ")"}, {"{", "}"}, {"abs(", ")"}, {"if (True) {", "} else { 1 }"}};
  for (const auto& pair : pairs) {
    const auto nested = [&](int depth) {
      std::string text = "1";
      for (int i = 0; i < depth; ++i) text.insert(0, pair.first).append(pair.second);
      return errors_of("def @a() { " + text + " }");
    };
    EXPECT_EQ(nested(399), "") << pair.first;
    EXPECT_NE(nested(400).find("the text nests more than 400 deep"), std::string::npos)
        << pair.first;
  }
  const std::string deep = "def @a() { " + std::string(100'000, '(') + "1 }";
  EXPECT_EQ(errors_of(deep).substr(0, 5), "E0201");
  const std::string type = "def @a(%x: " + std::string(100'000, '(') + ") { 1 }";
  EXPECT_EQ(errors_of(type).substr(0, 5), "E0201");
  const std::string list = "def @a(k=" + std::string(100'000, '[') + ") { 1 }";
  EXPECT_EQ(errors_of(list).substr(0, 5), "E0201");
}

// Mutated texts are read, or refused with places inside the text; what is read survives printing.
constexpr std::string_view kPieces[] = {
    "(",     ")",    "{",   "}",   "[",  "]",     "%0",   "%x",
    "@main", "let ", "fn ", "if ", "=",  ";",     ",",    ".1",
    "-",     "?",    "?(",  "\"",  "/*", "*/",    "#[",   "meta[relay.Constant][0]",
    "1e",    "inff", "i64", "->",  "\\", "match", "\x80", std::string_view("\0", 1)};

void check_survives(const std::string& text) {
  const auto file = testing::source(text);
  auto parsed = parse_text(file, testing::operators());
  if (parsed) {
    const std::string printed = testing::print_text(parsed->functions);
    const ParsedText again = testing::parse_good(testing::source(printed));
    for (const auto& [name, f] : parsed->functions) {
      ASSERT_TRUE(again.functions.contains(name)) << text;
      EXPECT_FALSE(find_difference(f, again.functions.at(name))) << text << "\n" << printed;
    }
    return;
  }
  ASSERT_FALSE(parsed.error().empty()) << text;
  for (const Diagnostic& d : parsed.error().list) {
    EXPECT_EQ(to_string(d.location).substr(0, 8), "t.relay:") << d.message << "\n" << text;
    EXPECT_FALSE(d.message.empty());
  }
}

TEST(ParseErrors, MutatedTextsNeverCrash) {
  const std::string seed_text =
      *read_file(TESSERA_SOURCE_DIR "/src/relay/text/testdata/everything.relay");
  testing::parse_good(testing::source(seed_text));
  int read = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = tessera::testing::Mutator(seed, kPieces).mutate(seed_text);
    read += parse_text(testing::source(text), testing::operators()).has_value() ? 1 : 0;
    check_survives(text);
  }
  EXPECT_GT(read, 10) << "some mutations are harmless";
  EXPECT_LT(read, 390);
}

}  // namespace
}  // namespace tessera::relay
