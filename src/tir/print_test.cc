// SPDX-License-Identifier: Apache-2.0
#include "tir/print.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tir/compare.h"
#include "tir/parse.h"
#include "tir/random_function.h"
#include "tir/verify.h"

namespace tessera::tir {
namespace {

std::string read_golden(const std::string& name) {
  std::ifstream in(std::string(TESSERA_SOURCE_DIR) + "/src/tir/testdata/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string error_of(std::string_view text) {
  const auto result = parse_prim_func(text);
  return result ? "no error" : render(result.error());
}

TEST(PrintTest, GoldensReadBackAsTheSameText) {
  for (const char* name : {"kernel.tir", "host.tir", "constants.tir"}) {
    const std::string text = read_golden(name);
    ASSERT_FALSE(text.empty()) << name;
    const auto file = std::make_shared<SourceFile>(SourceFile{name, text});
    const auto parsed = parse_prim_func(file, 0);
    ASSERT_TRUE(parsed) << render(parsed.error());
    EXPECT_EQ(print(parsed->func, parsed->name), text);
  }
}

TEST(PrintTest, RandomFunctionsReadBackEqual) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const PrimFunc f = RandomFunctions(seed).function();
    const std::string text = print(f, "f");
    const auto back = parse_prim_func(text);
    ASSERT_TRUE(back) << "seed " << seed << "\n" << text << render(back.error());
    ASSERT_TRUE(equal(f, *back)) << "seed " << seed << "\n" << text << print(*back, "f");
    ASSERT_EQ(hash(f), hash(*back)) << "seed " << seed;
    ASSERT_EQ(print(*back, "f"), text) << "seed " << seed;
  }
}

TEST(PrintTest, DamagedTextsAreRefusedNotMisread) {
  // Every prefix, and texts with a byte taken out: an error or a function, never a crash.
  const std::string text = read_golden("kernel.tir");
  for (std::size_t i = 0; i + 1 < text.size(); i += 3) {
    (void)parse_prim_func(text.substr(0, i));
    (void)parse_prim_func(text.substr(0, i) + text.substr(i + 1));
  }
  std::string nested = "@T.prim_func\ndef f(*, y: T.Buffer((), \"int64\")):\n  y[()] = ";
  EXPECT_NE(error_of(nested + std::string(100000, '(')).find("nests less deeply"),
            std::string::npos);
  std::string sum = nested + "1";  // deep as a tree, which walks recurse into
  for (int i = 0; i < 100000; ++i) sum += " + 1";
  EXPECT_NE(error_of(sum + "\n").find("nests less deeply"), std::string::npos);
}

TEST(PrintTest, LargeConstantsGoThroughTheCallback) {
  const Buffer b = make_buffer("w", kFloat32, {100}), y = make_buffer("y", kFloat32, {});
  const Tensor data = tensor_from_doubles({100}, kFloat32, std::vector<double>(100, 1.5));
  PrimFunc f;
  f.outputs = {y};
  f.body = AllocateConst::make(b, data, Store::make(y, std::vector<Expr>{}, load(b, {Expr(7)})));
  PrintOptions options;
  options.large_constant = [&](const Tensor& t) {
    EXPECT_EQ(t, data);
    return "meta[relay.Constant][4]";
  };
  const std::string text = print(f, "f", options);
  EXPECT_NE(text.find("w = T.allocate_const(meta[relay.Constant][4], (100,), \"float32\")"),
            std::string::npos)
      << text;
  ParseOptions with_data;
  with_data.constant = [&](std::uint32_t i) { return i == 4 ? std::optional(data) : std::nullopt; };
  const auto back = parse_prim_func(text, with_data);
  ASSERT_TRUE(back) << render(back.error());
  EXPECT_TRUE(equal(f, *back));
  EXPECT_NE(error_of(text).find("the metadata hold no constant 4"), std::string::npos);
}

TEST(PrintTest, FunctionsEndBeforeABrace) {
  const std::string text =
      "@f = tir {\n  @T.prim_func\n  def f(*, y: T.Buffer((), \"int64\")):\n"
      "    y[()] = 1\n}\n@g";
  const auto file = std::make_shared<SourceFile>(SourceFile{"m.relay", text});
  const auto parsed = parse_prim_func(file, static_cast<std::uint32_t>(text.find("@T")));
  ASSERT_TRUE(parsed) << render(parsed.error());
  EXPECT_EQ(parsed->end, text.find('}'));
}

TEST(PrintTest, ErrorsNamePlaceAndRule) {
  const std::string head =
      "@T.prim_func\ndef f(x: T.Buffer((2,), \"float32\"), *, y: "
      "T.Buffer((2,), \"float32\")):\n";
  const auto says = [&](const std::string& body, const std::string& message) {
    const std::string text = error_of(head + body);
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  says("  y[0] = z[0]\n", "-:3:10: error[E0206]: `z` is not defined here");
  says("  y[0] = 1 + x\n", "error[E0201]");
  says("  y[0, 0] = x[0]\n", "-:3:3: error[E0207]: `y` has 1 dimensions and is read with 2");
  says("  y[0] = x[0] + T.int32(1)\n", "-:3:15: error[E0204]: operands of `+` have types float32");
  says("  y[0] = True\n", "error[E0204]: `y` is float32 and its value bool");
  says("  for i in T.fast(2):\n    pass\n", "error[E0201]: `T.fast` is not a kind of loop");
  says("  for i in T.serial(2.5):\n    pass\n",
       "-:3:12: error[E0204]: a loop counts integers, not float32");
  says("  for i in T.serial(2):\n  pass\n", "found `pass` where an indented statement should be");
  says("  y[0] = T.int8(300)\n", "error[E0210]: `300` does not fit int8");
  says("  y[0] = x[0]\n    y[1] = x[1]\n", "-:4:5: error[E0201]");
  for (const std::string type : {"handle", "float32x4"}) {
    says("  c = T.allocate_const([1], (1,), \"" + type + "\")\n  pass\n",
         "error[E0210]: the numbers of a constant are not " + type);
  }
}

constexpr const char* kHostProgram =
    "@T.prim_func(host=True)\n"
    "def main(n: T.Buffer((2,), \"int64\"{0}), *, y: T.Buffer((2,), \"int64\", "
    "space=\"cuda:1\")):\n"
    "  k = T.allocate_const([1, 2], (2,), \"int64\"{0})\n"
    "  s = T.alloc_buffer((2,), \"int64\", scope=\"stack\"{1})\n"
    "  v = T.view(s, (1, 2), \"int64\"{0})\n"
    "  T.call_kernel(\"f\", [n, k], [v, y], [])\n";

// The frame of a host program is the host's memory; what else is there says so by its space.
TEST(PrintTest, EarlierTextsSayStackOfTheHostsMemory) {
  const std::string now = fmt::format(kHostProgram, ", space=\"host\"", ", space=\"host\"");
  const std::string earlier = fmt::format(kHostProgram, ", scope=\"stack\"", "");
  const auto parsed = parse_prim_func(now), old = parse_prim_func(earlier);
  ASSERT_TRUE(parsed) << render(parsed.error());
  ASSERT_TRUE(old) << render(old.error());
  EXPECT_EQ(print(*parsed, "main"), now);
  EXPECT_EQ(print(*old, "main"), now);
  EXPECT_TRUE(equal(*parsed, *old));
  EXPECT_TRUE(is_on_host(parsed->inputs[0]));
  EXPECT_FALSE(is_on_host(parsed->outputs[0]));
  const auto elsewhere = parse_prim_func(fmt::format(kHostProgram, "", ""));
  ASSERT_TRUE(elsewhere);
  EXPECT_FALSE(equal(*parsed, *elsewhere));
  EXPECT_NE(hash(*parsed), hash(*elsewhere));
}

TEST(PrintTest, MemorySpacesAreChecked) {
  EXPECT_NE(error_of(fmt::format(kHostProgram, ", space=\"moon\"", ""))
                .find("a memory space: host, pinned, cuda, cuda:1 or constant"),
            std::string::npos);
  const auto parsed = parse_prim_func(fmt::format(kHostProgram, "", ", space=\"cuda\""));
  ASSERT_TRUE(parsed) << render(parsed.error());
  const auto legal = verify(*parsed, "main");
  ASSERT_FALSE(legal);
  EXPECT_NE(
      render(legal.error()).find("a stack buffer of a host program in the memory space `cuda`"),
      std::string::npos);
}

TEST(PrintTest, PrecedenceIsThatOfPython) {
  const Expr a = make_var("a"), b = make_var("b"), p = make_var("p", kBool);
  EXPECT_EQ(print((a + b) * 2 - (a - b)), "(a + b) * 2 - (a - b)");
  EXPECT_EQ(print(floor_mod(floor_div(a, 4) * 4, b)), "a // 4 * 4 % b");
  EXPECT_EQ(print(a - Expr(-3)), "a - -3");
  EXPECT_EQ(print(logical_not(logical_and(lt(a, b), p))), "not (a < b and p)");
  EXPECT_EQ(print(eq(lt(a, b), p)), "(a < b) == p");
  EXPECT_EQ(print(cast(a, kFloat32) * float_imm(0.1)), "T.float32(a) * 0.1");
}

// Whatever a model's text says in an attribute or a name, the text reads back.
TEST(PrintTest, HostileTextReadsBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  PrimFunc f;
  f.inputs = {make_buffer("a\n\"b", kFloat32, {4})};
  f.outputs = {make_buffer("\r", kFloat32, {4})};
  f.attrs["note"] = all + "\xe2\x80\xae \xe2\x80\xa8 \\";
  f.body = Store::make(f.outputs[0], std::vector<Expr>{Expr(0)}, load(f.inputs[0], {Expr(0)}));
  const std::string text = print(f, "a(): pass\n");
  const auto again = parse_prim_func(text);
  ASSERT_TRUE(again) << render(again.error()) << text;
  EXPECT_EQ(again->attrs, f.attrs);
  EXPECT_EQ(text.find_first_of("\r\x1b\xe2"), text.npos);
}

TEST(PrintTest, TensorDefinitions) {
  const TensorExpr x = input_tensor("x", {4, 8}, kFloat32);
  const IterAxis k = reduce_axis(8, "k");
  const TensorExpr y = compute(
      "y", {4},
      [&](const Indices& i) {
        return sum({k}, x({i[0], k.var}));
      },
      "reduce");
  EXPECT_EQ(print(y), "x: (4, 8), \"float32\"\ny(i0: 4) = reduce_sum(k: 8, x(i0, k))  # reduce\n");
}

}  // namespace
}  // namespace tessera::tir
