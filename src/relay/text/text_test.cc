// SPDX-License-Identifier: Apache-2.0
// What is read, and how it is printed.
#include "relay/text/testing/text.h"

#include <ctime>
#include <limits>

#include "support/files.h"

namespace tessera::relay {
namespace {

using testing::expect_round_trip;
using testing::parse_main;
using testing::print_all;

std::string reprint(std::string_view definitions) {
  return print_all(testing::parse_good(testing::module_source(definitions)).functions);
}

TEST(Print, WorkedExampleOfTheSpecification) {
  const std::string text = R"(def @main(%x: Tensor[(2, 3), float32]) {
  %0 = add(%x, 1f);
  %1 = nn.relu(%0);
  %2 = nn.relu(%0);
  multiply(%1, %2)
}
)";
  EXPECT_EQ(reprint(text), text);
}

TEST(Print, CanonicalTextsStayAsTheyAre) {
  for (const std::string text : {
           "def @main() -> () {\n  ()\n}\n",
           "def @main(%x: float32, %y: (int8, Tensor[(4), bool])) -> (float32,) {\n  (%x,)\n}\n",
           "def @main(%x: Tensor[(?, ?seq, ?(2*seq+1)), int64]) {\n  %x\n}\n",
           "def @main(%x: int32, Compiler=\"a\\\"b\", Primitive=1, rate=0.5f, xs=[1, [2, 3]], "
           "z=None) {\n"
           "  nn.pad(%x, pad_width=[[0, 0], [1, 2]])\n}\n",
           "def @main(%c: bool, %x: int32) {\n  if (%c) {\n    abs(%x)\n  } else {\n    %0 = "
           "exp(%x);\n"
           "    add(%0, 1)\n  }\n}\n",
           "def @main(%x: int32) {\n  %0 = (%x, 2i64);\n  %0.1\n}\n",
           "def @main(%x: int32) {\n  let %y: int32 = abs(%x);\n  %0 = exp(%y);\n  let %z = "
           "add(%0, %y);\n"
           "  nn.relu(%z)\n}\n",
           "def @main(%x: int32) {\n  %1 = fn (%p: int32, Primitive=1) -> int32 {\n    %0 = "
           "abs(%p);\n"
           "    nn.relu(%0)\n  };\n  %1(%x)\n}\n",
           "def @f(%x: int32) {\n  %x\n}\n",
           "def @main(%x: Tensor[(2), float32]) {\n  nn.dense(%x, %x, units=None, "
           "out_dtype=\"float16\")\n}\n",
           "def @main(%f: fn (int32, float32) -> bool) {\n  %f(1, 1f)\n}\n",
           "def @\"a b\"(%x: int32) {\n  @main(%x, attrs_type_key=\"relay.attrs.T\", "
           "tag=\"t\")\n}\n",
       }) {
    EXPECT_EQ(reprint(text), text);
    expect_round_trip(text);
  }
}

TEST(Print, ArgumentsBeforeTheCalleeAndNumbersRunOn) {
  EXPECT_EQ(
      reprint("def @g(%x: int32) { %5 = abs(%x); exp(%5) }\n"
              "def @main(%x: int32) { (fn (%y: int32) { %8 = abs(%y); exp(%8) })(abs(%x)) }\n"),
      "def @g(%x: int32) {\n  %0 = abs(%x);\n  exp(%0)\n}\n"
      "def @main(%x1: int32) {\n  %1 = abs(%x1);\n  %3 = fn (%y: int32) {\n    %2 = abs(%y);\n"
      "    exp(%2)\n  };\n  %3(%1)\n}\n");
}

TEST(Print, LocalsAreUniqueAndLegal) {
  FunctionBuilder b;
  const Type t = tensor_type({}, kInt32);
  std::vector<NodeId> params;
  for (const char* name : {"x", "x", "", "1", "a.b:0", "x1", "/enc/q"})
    params.push_back(b.param(name, t));
  const Function f = b.finish(b.tuple(params));
  EXPECT_EQ(print(f),
            "fn (%x: int32, %x1: int32, %v: int32, %v1: int32, %a_b_0: int32, %x11: int32, "
            "%v/enc/q: int32) {\n  (%x, %x1, %v, %v1, %a_b_0, %x11, %v/enc/q)\n}");
}

TEST(Print, TypesAreCommentsAtFirstSight) {
  FunctionBuilder b;
  const Type t = tensor_type({2}, kFloat32);
  const NodeId x = b.param("x", t);
  b.set_type(x, t);
  const NodeId one = b.constant(Tensor::scalar(1.0f, kFloat32));
  b.set_type(one, tensor_type({}, kFloat32));
  const NodeId sum = b.call(testing::op("add"), {x, one});
  b.set_type(sum, t);
  const NodeId twice = b.call(testing::op("add"), {sum, one});
  b.set_type(twice, t);
  const Function f = b.finish(twice, {}, t);
  EXPECT_EQ(
      print(f),
      "fn (%x: Tensor[(2), float32] /* ty=Tensor[(2), float32] */) -> Tensor[(2), float32] {\n"
      "  %0 = add(%x, 1f /* ty=float32 */) /* ty=Tensor[(2), float32] */;\n"
      "  add(%0, 1f) /* ty=Tensor[(2), float32] */\n}");
  EXPECT_EQ(print(f, {.types = false, .spans = false}).find("/*"), std::string::npos);
}

TEST(Print, ScalarLiterals) {
  const std::string text =
      "def @main() {\n  (42i16, 42, -7i64, 3f16, 0.1f, 1e+11f, -0f, 3f64, True, False, inff, "
      "-inff, "
      "-inff16, inff64, 0.1f16, 65500f16, 16777216f, 1.00001e+06f, 1e-45f, 2147483647, "
      "-2147483648, "
      "-9223372036854775808i64)\n}\n";
  EXPECT_EQ(reprint(text), text);
  expect_round_trip(text);
  expect_round_trip("def @main() { (nanf, -nanf16) }");
}

TEST(Print, WhatHasNoLiteralGoesToTheMetadata) {
  const std::int64_t five = 5;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Tensor& t :
       {tensor_from_ints({}, kInt8, std::span(&five, 1)),
        tensor_from_ints({}, kUInt8, std::span(&five, 1)),
        tensor_from_ints({}, kUInt64, std::span(&five, 1)), Tensor::scalar(0.5f, kFloat32),
        tensor_from_doubles({}, kFloat32, std::span(&nan, 1))}) {
    FunctionBuilder b;
    const Function f = b.finish(b.constant(t));
    const bool has_literal = element_as_double(t, 0) == 0.5;
    EXPECT_EQ(print(f),
              has_literal ? "fn () {\n  0.5f\n}" : "fn () {\n  meta[relay.Constant][0]\n}");
  }
}

TEST(Print, EqualConstantsShareANumberWhereverTheyAreStored) {
  ConstantPool pool;
  const Tensor t = tensor_from_ints({3}, kInt32, std::vector<std::int64_t>{1, 2, 3});
  FunctionBuilder b;
  const Function f = b.finish(b.tuple(std::vector{b.constant(t), b.constant(pool.add(t))}));
  EXPECT_EQ(print(f, {}, &pool),
            "fn () {\n  (meta[relay.Constant][0], meta[relay.Constant][0])\n}");
}

TEST(Print, NodesStandInTheRegionThatHoldsThem) {
  FunctionBuilder b;
  const Type t = tensor_type({}, kInt32);
  const NodeId x = b.param("x", t), c = b.param("c", tensor_type({}, kBool));
  const NodeId shared = b.call(testing::op("abs"), {x});
  const RegionId yes = b.begin_region();
  b.end_region(b.call(testing::op("exp"), {shared}));
  const RegionId no = b.begin_region();
  b.end_region(shared);
  const Function f = b.finish(b.if_(c, yes, no));
  EXPECT_EQ(
      print(f),
      "fn (%x: int32, %c: bool) {\n  %0 = abs(%x);\n  if (%c) {\n    exp(%0)\n  } else {\n    %0\n"
      "  }\n}");
}

TEST(Parse, InfixOperatorsBindAndAssociate) {
  EXPECT_EQ(reprint("def @main(%a: int32, %b: int32) { %a - %b - %a * %b < %a + 1 == True }"),
            reprint("def @main(%a: int32, %b: int32) { equal(less(subtract(subtract(%a, %b), "
                    "multiply(%a, %b)), add(%a, 1)), True) }"));
  EXPECT_EQ(reprint("def @main(%a: int32) { %a-1 }"),
            "def @main(%a: int32) {\n  subtract(%a, 1)\n}\n");
  EXPECT_EQ(reprint("def @main(%a: int32) { %a*-1 }"),
            "def @main(%a: int32) {\n  multiply(%a, -1)\n}\n");
  EXPECT_EQ(reprint("def @main() { --5 }"), "def @main() {\n  5\n}\n");
}

TEST(Text, NumbersInAttributesOfFunctionsKeepTheirWidth) {
  const std::string text =
      "def @main(%x: int32, A=1i16, B=1, C=[1i64, -2], D=1.5f16, E=1.5f, F=1.5f64, "
      "G=4294967296i64) {\n  %x\n}\n";
  EXPECT_EQ(reprint(text), text);
  EXPECT_EQ(reprint("def @main(%x: int32, A=1i32, B=4294967296, C=1f32) { %x }"),
            "def @main(%x: int32, A=1, B=4294967296i64, C=1f) {\n  %x\n}\n");
}

TEST(Parse, FreeFormAndComments) {
  expect_round_trip(
      "// a comment\r\ndef@main(%x:Tensor[(2,),float32],)->Tensor[(2,),float32]{/* a /* nested */ "
      "one */"
      "nn.relu(\n%x)/* ty=x */}");
  expect_round_trip("def @main(%x/y: (int32, (int32, int32))) { %x/y.1.0 }");
  expect_round_trip("def @main(%x: int32) { { %x } }");
  expect_round_trip("def @main(%x: int32) { add((let %y = abs(%x); %y), (%x)) }");
}

TEST(Parse, LetShadowsAndScopesEnd) {
  const Function f = parse_main("def @main(%x: int32) { let %x = abs(%x); let %x = exp(%x); %x }");
  EXPECT_EQ(f.op(f.operands(f.result())[0]), &testing::op("exp"));
  EXPECT_EQ(testing::errors_of(
                testing::module_source("def @main(%x: int32) { add((let %y = abs(%x); %y), %y) }")),
            "E0206 2:52 `%y` has not been declared");
}

TEST(Parse, SequenceWithoutBindingIsAnAnonymousLet) {
  const Function f = parse_main("def @main(%x: int32) { abs(%x); %x }");
  EXPECT_EQ(print(f), "fn (%x: int32) {\n  let %v_ = abs(%x);\n  %x\n}");
}

TEST(Parse, TemporariesThatNobodyReadsAreNoPart) {
  EXPECT_EQ(parse_main("def @main(%x: int32) { %0 = abs(%x); %1 = exp(%0); %x }").num_nodes(), 1u);
}

TEST(Parse, RecursiveLetBecomesAGlobal) {
  const ParsedText text = testing::parse_good(testing::module_source(
      "def @main(%x: int32) {\n  let %f = fn (%n: int32) -> int32 {\n"
      "    if (less(%n, 1)) { %n } else { %f(subtract(%n, 1)) }\n  };\n  %f(%x)\n}"));
  ASSERT_EQ(text.functions.size(), 2u);
  EXPECT_EQ(
      print_all(text.functions),
      "def @main(%x: int32) {\n  let %f = @main_f;\n  %f(%x)\n}\n"
      "def @main_f(%n: int32) -> int32 {\n  %0 = less(%n, 1);\n  if (%0) {\n    %n\n  } else {\n"
      "    %1 = subtract(%n, 1);\n    @main_f(%1)\n  }\n}\n");
}

TEST(Parse, StringsAreUnescaped) {
  const Function f = parse_main(R"(def @main(a="q\"\\\n\x01", b="plain \d") { () })");
  EXPECT_EQ(f.attrs.string_or_empty("a"), "q\"\\\n\x01");
  EXPECT_EQ(f.attrs.string_or_empty("b"), "plain \\d");
  expect_round_trip(R"(def @main(a="q\"\\\n\x01", b="plain \d") { () })");
}

TEST(Parse, SymbolsOfTheHeader) {
  const ParsedText text = testing::parse_good(testing::module_source(
      "#[symbol seq = 8..512 step 8 : 128]\n#[symbol batch = 1..]\ndef @main() { () }"));
  EXPECT_EQ(text.symbols.at("seq"), (Symbol{"seq", 8, 512, 8, 128}));
  EXPECT_EQ(text.symbols.at("batch"), (Symbol{"batch", 1, -1, 1, std::nullopt}));
}

TEST(Parse, TheBertConstantsCase) {
  const ParsedText once = testing::parse_good(testing::source(
      *read_file(TESSERA_SOURCE_DIR "/src/relay/text/testdata/bert_constants.relay")));
  const Function& f = once.functions.at("tvmgen_default_cutlass_main_267");
  EXPECT_EQ(f.attrs.string_or_empty("Compiler"), "cutlass");
  const std::string text = testing::print_text(once.functions);
  EXPECT_NE(text.find("multiply(%1, 0.707"), std::string::npos) << text.substr(0, 2000);
  const ParsedText twice = testing::parse_good(testing::source(text));
  const auto difference = find_difference(f, twice.functions.at("tvmgen_default_cutlass_main_267"));
  EXPECT_FALSE(difference) << difference->where << difference->what;
}

TEST(Text, LongChainsAreQuick) {
  constexpr int kLength = 90'000;
  const std::clock_t start = std::clock();
  std::string temporaries = "def @main(%x: int32) {\n  %0 = add(%x, 1);\n";
  std::string lets = "def @main(%x: int32) {\n";
  std::string infix = "def @main(%x: int32) {\n  %x";
  for (int i = 1; i < kLength; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    temporaries += "  %" + n + " = add(%" + before + ", 1);\n";
    lets += "  let %x = abs(%x);\n";
    infix += " + 1";
  }
  for (const std::string& text : {temporaries + "  %" + std::to_string(kLength - 1) + "\n}",
                                  lets + "  %x\n}", infix + "\n}"}) {
    const Function f = parse_main(text);
    EXPECT_GE(f.num_nodes(), static_cast<std::size_t>(kLength));
    const Function g = parse_main("def @main" + print(f).substr(3));
    EXPECT_FALSE(find_difference(f, g));
    EXPECT_EQ(structural_hash(f), structural_hash(g));
  }
  EXPECT_LT(std::clock() - start, 60 * CLOCKS_PER_SEC) << "something is quadratic";
}

// Targets decide where things run; what other writers say of it is read and not kept.
TEST(Text, VirtualDevicesAreReadAndForgotten) {
  const std::string metadata = R"(#[metadata]
{"root": 1, "nodes": [{"type_key": ""},
  {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]}, {"type_key": "Array", "data": [3]},
  {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1"}}]})";
  const auto parsed = testing::parse_good(
      testing::module_source("def @main(%x {virtual_device=meta[VirtualDevice][0]}: int32, "
                             "virtual_device=meta[VirtualDevice][0], k=1) { abs(%x) }\n" +
                             metadata));
  EXPECT_EQ(parsed.functions.at("main").attrs, (Attrs{{"k", 1}}));
  EXPECT_EQ(testing::errors_of(testing::module_source(
                "def @main(%x: int32, virtual_device=meta[VirtualDevice][1]) { %x }\n" + metadata)),
            "E0211 2:37 `meta[VirtualDevice][1]` has no entry: there are 1 virtual devices");
}

}  // namespace
}  // namespace tessera::relay
