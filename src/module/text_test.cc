// SPDX-License-Identifier: Apache-2.0
#include "module/text.h"

#include <gtest/gtest.h>

#include "constants/npy.h"
#include "relay/testing/operators.h"
#include "support/files.h"
#include "tir/expr_ops.h"

namespace tessera {
namespace {

using relay::testing::operators;

Module parse_good(std::string text, std::vector<Tensor> constants = {}) {
  const auto file = std::make_shared<const SourceFile>(SourceFile{"m.relay", std::move(text)});
  auto module = parse_module(file, operators(), std::move(constants));
  if (module) return std::move(*module);
  ADD_FAILURE() << render(module.error());
  return {};
}

constexpr std::string_view kTwoFunctions = R"(#[version = "0.0.5"]
#[symbol batch = 1..]
#[symbol seq = 8..512 step 8 : 128]
def @helper(%x1: Tensor[(?seq), float32]) {
  nn.relu(%x1)
}

def @main(%x: Tensor[(?seq), float32]) {
  @helper(%x)
}
)";

TEST(ModuleText, HeaderFunctionsByNameBlankLineBetween) {
  const Module module = parse_good(std::string(kTwoFunctions));
  EXPECT_EQ(print(module), kTwoFunctions) << "main keeps the names of its parameters";
  EXPECT_TRUE(compare(module, parse_good(print(module))).equal);
}

// A model's inputs are called what they are called; other locals get legal names.
TEST(ModuleText, ParametersOfMainKeepAnyName) {
  const std::string text = R"(#[version = "0.0.5"]
def @helper(%a_b: int32) {
  abs(%a_b)
}

def @main(%"a.b": int32, %a_b1: int32, %"/x\"y\n": int32, %"": int32) {
  %0 = add(%"a.b", %a_b1);
  %1 = add(%0, %"/x\"y\n");
  add(%1, %"")
}
)";
  const Module module = parse_good(text);
  const relay::Function& main = module.functions.at("main");
  std::vector<std::string> names;
  for (const relay::NodeId p : main.params()) names.push_back(main.as<relay::Param>(p)->name);
  EXPECT_EQ(names, (std::vector<std::string>{"a.b", "a_b1", "/x\"y\n", ""}));
  EXPECT_EQ(print(module), text);
  const auto twice = parse_module(
      std::make_shared<const SourceFile>(SourceFile{
          "m.relay", "#[version = \"0.0.5\"]\ndef @main(%\"a\": int32, %a: int32) { %a }\n"}),
      operators());
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().list[0].code, Code::kDuplicateName);
}

// What an emitter or a schedule would have to refuse otherwise.
// In the order of bytes, whatever the order of the text was.
TEST(ModuleText, FunctionsAreInOrderOfName) {
  const std::string version = "#[version = \"0.0.5\"]\n";
  const std::string main = "def @main() {\n  %0 = @b();\n  (%0, @\"a b\")\n}\n";
  const std::string a = "def @a() {\n  1\n}\n", b = "def @b() {\n  @a()\n}\n";
  const std::string z = "def @Z() {\n  2\n}\n", a_b = "def @\"a b\"() {\n  3\n}\n";
  EXPECT_EQ(print(parse_good(version + main + b + a_b + a + z)),
            version + z + "\n" + a + "\n" + a_b + "\n" + b + "\n" + main);
}

TEST(ModuleText, LoopFunctionsAreVerified) {
  const auto read = [](const std::string& body) {
    const std::string text =
        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { %x }\n@k = tir "
        "{\n@T.prim_func\n"
        "def k(x: T.Buffer((8,), \"float32\"), *, y: T.Buffer((8,), \"float32\")):\n" +
        body + "}\n";
    return parse_module(std::make_shared<const SourceFile>(SourceFile{"m.relay", text}),
                        operators());
  };
  EXPECT_TRUE(read("  for i in T.parallel(8):\n    y[i] = x[i]\n"));
  const std::pair<const char*, const char*> illegal[] = {
      {"  T.barrier()\n", "a barrier outside of a team"},
      {"  a = T.alloc_buffer((8,), \"float32\", scope=\"shared\")\n  a[0] = 1.0\n",
       "shared memory `a` outside of a block"},
      {"  T.call_kernel(\"nope\", [x], [y], [])\n", "a call of a kernel outside of a host program"},
      {"  a = T.alloc_buffer((T.Ramp(0, 1, 4),), \"float32\")\n  y[0] = 1.0\n",
       "an extent is int64x4"},
      {"  a = T.alloc_buffer((1000000000000,), \"float32\", scope=\"stack\")\n  a[0] = 1.0\n",
       "a stack buffer of 4000000000000 bytes, of which 1048576 are possible"},
  };
  for (const auto& [body, finding] : illegal) {
    const auto module = read(body);
    ASSERT_FALSE(module) << body;
    const Diagnostic& d = module.error().list.front();
    EXPECT_EQ(to_string(d.location).substr(0, 10), "m.relay:5:") << body;
    EXPECT_NE(d.message.find(finding), std::string::npos) << d.message;
    EXPECT_FALSE(d.remedy.empty());
  }
}

TEST(ModuleText, ConstantsInAFileBesideTheText) {
  const TempDir folder = *TempDir::make("module-text");
  const Module module =
      parse_good("#[version = \"0.0.5\"]\ndef @main() {\n  meta[relay.Constant][0]\n}\n",
                 {tensor_from_doubles({100}, kFloat32, std::vector<double>(100, 2.5))});
  const TextAndConstants apart = print_apart(module);
  ASSERT_EQ(apart.constants.size(), 1u);
  const auto read = [&](const std::string& text) {
    return parse_module_file(
        std::make_shared<const SourceFile>(SourceFile{folder.path() + "/m.relay", text}),
        operators());
  };
  const std::string text = apart.text + metadata_in("m.npz");
  EXPECT_FALSE(read(text)) << "there is no such file";
  ASSERT_TRUE(write_npz(folder.path() + "/m.npz", {{"0", apart.constants[0]}}));
  const auto again = read(text);
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_TRUE(compare(module, *again).equal);

  ASSERT_TRUE(write_npz(folder.path() + "/m.npz", {{"weight", apart.constants[0]}}));
  const auto misnamed = read(text);
  ASSERT_FALSE(misnamed);
  EXPECT_EQ(misnamed.error().list[0].code, Code::kBadMetadata);
  const auto open = read("#[version = \"0.0.5\"]\n#[metadata in \"m.npz]\n");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().list[0].code, Code::kSyntax);
}

Tensor big() { return tensor_from_doubles({100}, kFloat32, std::vector<double>(100, 1.5)); }

// %c + %c + 2f with %c in the pool, and a loop function that reads the pool too.
Module with_pool() {
  Module module;
  const ConstantIndex index = module.constants.add(big());
  relay::FunctionBuilder b;
  const relay::NodeId c = b.constant(index);
  const relay::NodeId sum = b.call(relay::testing::op("add"), {c, c});
  const float two = 2;
  const relay::NodeId scalar = b.constant(Tensor::scalar(two, kFloat32));
  module.functions.emplace("main", b.finish(b.call(relay::testing::op("add"), {sum, scalar})));
  return module;
}

TEST(ModuleText, PoolAndImmediateConstantsPrintAlike) {
  const Module pooled = with_pool();
  const std::string text = print(pooled);
  const Module immediate = parse_good(text);
  EXPECT_TRUE(immediate.constants.empty());
  EXPECT_EQ(print(immediate), text);
  const ModuleDifference d = compare(pooled, immediate);
  EXPECT_TRUE(d.equal) << d.where << d.what;
}

TEST(ModuleText, ConstantsCanBeKeptApart) {
  const TextAndConstants apart = print_apart(with_pool());
  ASSERT_EQ(apart.constants.size(), 1u);
  EXPECT_EQ(apart.text.find("#[metadata]"), std::string::npos);
  EXPECT_TRUE(compare(parse_good(apart.text, apart.constants), with_pool()).equal);
  const Module module = with_pool();
  const TextAndConstants of_main = print_apart(module.functions.at("main"), module.constants);
  EXPECT_EQ(of_main.text, apart.text);
  ASSERT_EQ(of_main.constants.size(), 1u);
  EXPECT_TRUE(of_main.constants[0] == apart.constants[0]);
  EXPECT_NE(
      print(with_pool(), {.functions = {}, .metadata = false}).find("// 1 constants are omitted"),
      std::string::npos);
}

TEST(ModuleText, LoopFunctionsFollowAndKeepThePool) {
  const std::string text = print(with_pool());
  const auto at = text.find("\n#[metadata]");
  const Module module = parse_good(text.substr(0, at) + R"(
@k00_add = tir {
@T.prim_func
def k00_add(x: T.Buffer((100,), "float32"), *, y: T.Buffer((100,), "float32")):
  c = T.allocate_const(T.pool(0), (100,), "float32", scope="constant")
  for i in T.parallel(100):
    y[i] = x[i] + c[i]
}
)" + text.substr(at));
  ASSERT_EQ(module.prim_funcs.size(), 1u);
  ASSERT_EQ(module.constants.size(), 1u);
  EXPECT_TRUE(module.constants.tensors()[0] == big());
  const std::string again = print(module);
  const Module twice = parse_good(again);
  EXPECT_EQ(print(twice), again);
  EXPECT_TRUE(compare(module, twice, {.prim_funcs = true}).equal);
  EXPECT_TRUE(compare(module, with_pool()).equal)
      << "without being asked, loop functions do not count";
  EXPECT_FALSE(compare(module, with_pool(), {.prim_funcs = true}).equal);
}

// Constants of loop functions are in the text whole: as numbers, or by reference to the metadata
// where they are many, or where digits are not their bits.
TEST(ModuleText, ConstantsOfLoopsAreWhole) {
  const auto with = [](const Tensor& data) {
    std::vector<tir::Expr> shape(data.shape.begin(), data.shape.end());
    const tir::Buffer c = tir::make_buffer("c", data.dtype, shape, tir::MemoryScope::kConstant);
    const tir::Buffer y = tir::make_buffer("y", data.dtype, {1});
    tir::PrimFunc f;
    f.outputs = {y};
    const std::vector<tir::Expr> first{tir::Expr(0)};
    f.body = tir::AllocateConst::make(c, ConstantValue(data),
                                      tir::Store::make(y, first, tir::load(c, first)));
    Module module;
    module.prim_funcs.emplace("k", f);
    return module;
  };
  const DType types[] = {kFloat16, kBFloat16, kFloat32, kFloat64, kInt8,   kInt16, kInt32,
                         kInt64,   kUInt8,    kUInt16,  kUInt32,  kUInt64, kBool};
  for (const DType dtype : types) {
    for (const std::int64_t size : {1, 64, 65, 1000}) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < size; ++i) {
        values.push_back(dtype.is_bool() ? double(i % 2) : double(i % 100) + 0.3);
      }
      const Module module = with(tensor_from_doubles({size}, dtype, values));
      const std::string text = print(module);
      EXPECT_EQ(text.find("T.allocate_const(meta[") != std::string::npos, size > 64) << text;
      EXPECT_TRUE(compare(module, parse_good(text), {.prim_funcs = true}).equal) << text;
    }
  }
  const Module bits = with(Tensor::of({2}, kFloat32, std::vector<std::uint32_t>{0xffc12345, 0}));
  const std::string text = print(bits);
  EXPECT_TRUE(compare(bits, parse_good(text), {.prim_funcs = true}).equal) << text;
}

TEST(ModuleText, ErrorsInLoopFunctionsHaveTheirPlace) {
  const auto file = std::make_shared<const SourceFile>(SourceFile{
      "m.relay",
      "#[version = \"0.0.5\"]\n@k = tir {\n@T.prim_func\ndef k(x: nonsense):\n  pass\n}\n"});
  const auto module = parse_module(file, operators());
  ASSERT_FALSE(module);
  EXPECT_EQ(to_string(module.error().list[0].location).substr(0, 9), "m.relay:4");
  EXPECT_EQ(module.error().list.size(), 1u) << render(module.error());
}

TEST(ModuleText, WhatFollowsALoopFunctionWithErrorsIsRead) {
  const auto file = std::make_shared<const SourceFile>(SourceFile{
      "m.relay",
      "#[version = \"0.0.5\"]\n@k = tir {\n@T.prim_func\ndef k(x: nonsense):\n"
      "  T.attrs({\"a\": 1})\n}\n@l = tir {\n@T.prim_func\ndef l(x: rubbish):\n  pass\n}\n"
      "def @main() { %nobody }\n"});
  const auto module = parse_module(file, operators());
  ASSERT_FALSE(module);
  std::vector<std::string> places;
  for (const Diagnostic& d : module.error().list) places.push_back(to_string(d.location));
  ASSERT_EQ(places.size(), 3u) << render(module.error());
  EXPECT_EQ(places[0].substr(0, 10), "m.relay:4:");
  EXPECT_EQ(places[1].substr(0, 10), "m.relay:9:");
  EXPECT_EQ(places[2].substr(0, 11), "m.relay:12:");
}

std::string difference(std::string_view a, std::string_view b) {
  const std::string version = "#[version = \"0.0.5\"]\n";
  const ModuleDifference d =
      compare(parse_good(version + std::string(a)), parse_good(version + std::string(b)));
  return d.equal ? "" : d.where + ": " + d.what;
}

TEST(Compare, NamesAndOrderDoNotCount) {
  EXPECT_EQ(
      difference(
          "def @f(%x: int32, a=1, b=\"c\") { let %y = abs(%x); %y }\ndef @g() { @f(1) }",
          "def @g() { @f(1) } // z\ndef @f(%u: int32, b=\"c\", a=True) { let %v = abs(%u); %v }"),
      "");
  EXPECT_EQ(difference("def @f(%x: int32) { %0 = abs(%x); %1 = exp(%x); add(%0, %1) }",
                       "def @f(%x: int32) { add(abs(%x), exp(%x)) }"),
            "");
}

TEST(Compare, LoopsAreFunctionsThatCallThemselves) {
  const auto loop = [](const std::string& i, const std::string& step) {
    return "def @f(%" + i + ": int32) -> int32 { @f(add(%" + i + ", " + step + ")) }\n" +
           "def @main() { @f(0) }";
  };
  EXPECT_EQ(difference(loop("i", "1"), loop("count", "1")), "");
  EXPECT_EQ(difference(loop("i", "1"), loop("i", "2")),
            "@f: result > argument 0 > operand 1 of `add` (m.relay:2:41 against m.relay:2:41): "
            "element 0 of a constant: 1 against 2");
  EXPECT_EQ(difference(loop("i", "1"), "def @f(%i: int32) -> int32 { %i }\ndef @main() { @f(0) }"),
            "@f: result (m.relay:2:30 against m.relay:2:8): a call of a function against the "
            "parameter `%i`, which is another value");
}

TEST(Compare, TheFirstDifferenceInWords) {
  EXPECT_EQ(difference("def @f() { 1 }", "def @g() { 1 }"), "@f: only in the first");
  EXPECT_EQ(difference("def @f() { 1 }", "def @f() { 2 }"),
            "@f: result (m.relay:2:12 against m.relay:2:12): element 0 of a constant: 1 against 2");
  EXPECT_EQ(
      difference("def @f(%x: int32) { abs(add(%x, 1)) }", "def @f(%x: int32) { abs(exp(%x)) }"),
      "@f: result > operand 0 of `abs` (m.relay:2:25 against m.relay:2:25): a call of `add` "
      "against a call of `exp`");
  EXPECT_EQ(difference("def @f(%x: int32) { %0 = abs(%x); add(%0, %0) }",
                       "def @f(%x: int32) { add(abs(%x), abs(%x)) }"),
            "@f: result > operand 1 of `add` (m.relay:2:26 against m.relay:2:34): a call of `abs` "
            "against a call of `abs`, which is another value");
  EXPECT_EQ(difference("def @f(%x: int32, Compiler=\"a\") { %x }", "def @f(%x: int32) { %x }"),
            "@f: the signature: attribute `Compiler` \"a\" against none");
  EXPECT_EQ(difference("def @f(%x: int32) { %x }", "def @f(%x: int64) { %x }"),
            "@f: the signature: parameter 0 `%x` has type int32 against int64");
  EXPECT_EQ(difference("def @f(%x: int32) { %x }", "def @f(%x: int32) -> int32 { %x }"),
            "@f: the signature: result type none against int32");
  EXPECT_EQ(difference("#[symbol s = 1..8]", "#[symbol s = 1..9]"),
            "symbol s: s = 1..8 against s = 1..9")
      << "ranges are part of the meaning";
}

}  // namespace
}  // namespace tessera
