// SPDX-License-Identifier: Apache-2.0
// Functions of the graph as host programs: their text, and what they compute.
#include "lower/main.h"

#include "lower/names.h"
#include "lower/testing/host_run.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "support/testing/golden.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::lower {
namespace {

using testing::HostRun;

Module lowered(const std::string& text) {
  auto module = lower(testing::module_of(text));
  TESSERA_CHECK(module.has_value(), "{}", render(module.error()));
  return std::move(*module);
}

// Lowers, runs with scratch memory inside of kernels and provided by the host, and compares with
// `expected`.
void expect_computes(const std::string& text, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& expected) {
  Module module = lowered(text);
  testing::expect_close(expected, HostRun(module, inputs).outputs(), text);
  module = hoist_allocations(std::move(module));
  for (const auto& [name, f] : module.prim_funcs) {
    const auto valid = tir::verify(f, name);
    ASSERT_TRUE(valid.has_value()) << render(valid.error()) << tir::print(f, name);
    if (f.is_host) continue;
    EXPECT_TRUE(f.body.as<tir::Allocate>() == nullptr &&
                f.body.as<tir::AllocateConst>() == nullptr);
  }
  testing::expect_close(expected, HostRun(module, inputs).outputs(), text);
}

void expect_computes_like_eval(const std::string& text) {
  const relay::Function f = testing::function_of(text);
  const std::vector<Tensor> inputs = testing::inputs_of(f, 3);
  expect_computes(text, inputs, testing::evaluated(f, inputs));
}

constexpr const char* kAttention =
    "def @main(%x: Tensor[(4, 6), float32]) {\n"
    "  %0 = reshape(%x, newshape=[2, 2, 6]);\n  %1 = nn.softmax(%0);\n"
    "  %2 = exp(%1);\n  %3 = reshape(%2, newshape=[4, 6]);\n  (%3, %1)\n}\n";

TEST(Lower, ShapesAreViewsAndResultsAreWrittenInPlace) {
  expect_computes_like_eval(kAttention);
  Module module = lowered(kAttention);
  tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/src/lower/testdata/views.tir",
                                  tir::print(module.prim_funcs.at("main"), "main"));
}

TEST(Lower, ParametersConstantsAndRepeatedResultsAreCopied) {
  const std::string text =
      "def @main(%x: Tensor[(3), float32]) {\n  %0 = exp(%x);\n  (%0, %0, %x, 2f)\n}\n";
  expect_computes_like_eval(text);
  const Module module = lowered(text);
  EXPECT_EQ(module.prim_funcs.size(), 4u) << "exp, copy of 3, copy of a scalar, main";
}

TEST(Lower, EqualFunctionsShareAKernel) {
  const std::string text =
      "def @main(%x: Tensor[(5), float32]) {\n"
      "  %0 = fn (%a: Tensor[(5), float32], Primitive=1) { tanh(%a) };\n"
      "  %1 = fn (%b: Tensor[(5), float32], Primitive=1) { tanh(%b) };\n"
      "  %2 = fn (%c: Tensor[(5), float32], Primitive=1) { exp(%c) };\n"
      "  %3 = %0(%x);\n  %4 = %1(%3);\n  %2(%4)\n}\n";
  const Module module = lowered(text);
  EXPECT_EQ(module.prim_funcs.size(), 3u) << "tanh, exp, main";
  EXPECT_EQ(module.externs.size(), 2u);
  EXPECT_FALSE(module.functions.contains("main"));
  for (const auto& [symbol, e] : module.externs) {
    EXPECT_EQ(e.backend, "native");
    EXPECT_TRUE(symbol.starts_with("k0") && symbol.ends_with("__native")) << symbol;
  }
}

TEST(Lower, ConstantsOfTheModuleAreUsedOnce) {
  relay::FunctionBuilder b;
  const Type type = tensor_type({2}, kFloat32);
  const Tensor weights = Tensor::of<float>({2}, kFloat32, {1.5F, -2});
  const relay::NodeId x = b.param("x", type);
  const relay::NodeId sum = b.call(ops::op("add"), {x, b.constant(weights)});
  const relay::NodeId product = b.call(ops::op("multiply"), {sum, b.constant(weights)});
  Module module;
  module.functions.emplace("main", b.finish(product));
  auto typed = ops::infer_types(std::move(module));
  ASSERT_TRUE(typed.has_value());
  auto lowered = lower(std::move(*typed));
  ASSERT_TRUE(lowered.has_value());
  EXPECT_EQ(lowered->constants.size(), 1u);
  const HostRun run(*lowered, {Tensor::of<float>({2}, kFloat32, {1, 1})});
  testing::expect_close({Tensor::of<float>({2}, kFloat32, {3.75F, 2})}, run.outputs(), "constants");
}

TEST(Lower, CallOfAFunctionThatNobodyCompiledIsAnError) {
  const auto module = lower(testing::module_of(
      "def @f(%a: Tensor[(5), float32], Compiler=\"onednn\", Primitive=1, global_symbol=\"f\")"
      " -> Tensor[(5), float32] { exp(%a) }\n"
      "def @main(%x: Tensor[(5), float32]) -> Tensor[(5), float32] { @f(%x) }\n"));
  ASSERT_FALSE(module.has_value());
  EXPECT_NE(render(module.error()).find("no back end has compiled it"), std::string::npos);
}

TEST(KernelNames, SayWhatTheKernelIsFor) {
  EXPECT_EQ(kernel_symbol(3, {"nn.softmax", "add"}, kFloat32, {12, 128}),
            "k03_softmax_add__f32_12x128__native");
  EXPECT_EQ(kernel_symbol(12, {}, kBool, {}), "k12_copy__b8_scalar__native");
  EXPECT_EQ(kernel_symbol(100, {"nn.bias_add"}, kBFloat16, {-1, 3}),
            "k100_biasadd__bf16_nx3__native");
}

}  // namespace
}  // namespace tessera::lower
