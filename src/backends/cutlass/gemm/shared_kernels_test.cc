// SPDX-License-Identifier: Apache-2.0
// Equal layers share kernels: counted by the symbols that sources define and call.
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "backends/cutlass/testing/models.h"
#include "passes/manager.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::layers;
using cutlass::testing::RecordingToolchain;
using Symbols = std::set<std::string>;

// What the pattern's group is wherever it matches.
Symbols symbols_of(const std::string& source, const char* pattern) {
  const std::regex expression(pattern);
  Symbols symbols;
  for (std::sregex_iterator at(source.begin(), source.end(), expression), end; at != end; ++at) {
    symbols.insert((*at)[1]);
  }
  return symbols;
}

Tensor constant(std::vector<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  constexpr std::uint16_t kQuarter = 0x3400;  // of float16
  return Tensor::of(std::move(shape), kFloat16,
                    std::vector<std::uint16_t>(static_cast<std::size_t>(count), kQuarter));
}

// One layer after the norm %<n>, whose own norm is its last line.
std::string encoder_layer(int n) {
  auto next = [at = n](const std::string& expression) mutable {
    return fmt::format("  %{} = {};\n", ++at, expression);
  };
  const auto heads = [](int of, int part, const char* axes) {
    return fmt::format(
        "transpose(reshape(strided_slice(%{}, begin=[{}], end=[{}], strides=[1], axes=[2]), "
        "newshape=[32, 384, 8, 64]), axes=[{}])",
        of, 512 * part, 512 * (part + 1), axes);
  };
  std::string text = next(fmt::format(
      "add(nn.matmul(%{}, meta[relay.Constant][2], units=None), meta[relay.Constant][3])", n));
  text += next(fmt::format("nn.matmul({}, {}, units=None)", heads(n + 1, 0, "0, 2, 1, 3"),
                           heads(n + 1, 1, "0, 2, 3, 1")));
  text += next(fmt::format("nn.softmax(add(multiply(%{}, 0.125f16), %m), axis=3)", n + 2));
  text += next(fmt::format("nn.matmul(%{}, {}, units=None)", n + 3, heads(n + 1, 2, "0, 2, 1, 3")));
  text += next(
      fmt::format("reshape(transpose(%{}, axes=[0, 2, 1, 3]), newshape=[32, 384, 512])", n + 4));
  text += next(fmt::format(
      "add(add(nn.matmul(%{}, meta[relay.Constant][4], units=None), meta[relay.Constant][0]), %{})",
      n + 5, n));
  text += next(
      fmt::format("nn.layer_norm(%{}, meta[relay.Constant][0], meta[relay.Constant][1])", n + 6));
  text += next(fmt::format(
      "nn.gelu(add(nn.matmul(%{}, meta[relay.Constant][5], units=None), meta[relay.Constant][6]))",
      n + 7));
  text += next(fmt::format(
      "add(add(nn.matmul(%{}, meta[relay.Constant][7], units=None), meta[relay.Constant][0]), %{})",
      n + 8, n + 7));
  return text + next(fmt::format(
                    "nn.layer_norm(%{}, meta[relay.Constant][0], meta[relay.Constant][1])", n + 9));
}
constexpr int kLinesOfALayer = 10;

// BERT of 32 sequences of 384, with its norms moved into its products.
Module folded_encoder(int layers) {
  std::string text =
      "#[version = \"0.0.5\"]\n"
      "def @main(%x: Tensor[(32, 384, 512), float16], %m: Tensor[(32, 1, 1, 384), float16]) {\n"
      "  %0 = nn.layer_norm(%x, meta[relay.Constant][0], meta[relay.Constant][1]);\n";
  for (int i = 0; i < layers; ++i) text += encoder_layer(i * kLinesOfALayer);
  text += fmt::format("  %{}\n}}\n", layers * kLinesOfALayer);
  auto parsed = parse_module(
      std::make_shared<const SourceFile>(SourceFile{"encoder", text}), ops::operators(),
      {constant({512}), constant({512}), constant({512, 1536}), constant({1536}),
       constant({512, 512}), constant({512, 2048}), constant({2048}), constant({2048, 512})});
  EXPECT_TRUE(parsed) << render(parsed.error());
  const auto calls =
      passes::parse_pipeline("fold-layer-norm,eliminate-dead-code", passes::all_passes());
  EXPECT_TRUE(calls);
  auto folded = passes::run_passes(*std::move(parsed), *calls, ops::operators());
  EXPECT_TRUE(folded) << render(folded.error());
  auto inferred = ops::infer_types(std::move(folded->module));
  EXPECT_TRUE(inferred) << render(inferred.error());
  return *std::move(inferred);
}

// Norms that are gone leave each product with more to do; layers are still alike.
TEST(CutlassSharedKernels, OfAnEncoderWithoutNormsAreSixAtMost) {
  RecordingToolchain toolchain;
  const Module encoder = folded_encoder(24);
  const std::string text = print(encoder, {.functions = {}, .metadata = false});
  EXPECT_NE(text.find("nn.layer_norm_factors("), std::string::npos);
  EXPECT_EQ(text.find("nn.layer_norm("), text.rfind("nn.layer_norm("));  // the result's, if any
  const auto outcome = compile(encoder, toolchain);
  EXPECT_EQ(outcome.regions.size(), 24u * 5);
  std::string regions;
  for (const auto& [name, source] : toolchain.sources) {
    if (!name.starts_with("tessera_")) regions += source;
  }
  const Symbols kernels = symbols_of(regions, "return (tessera_\\w+)\\(call, &");
  // Four products and attention by hand: one kernel each if nothing is shared among them.
  EXPECT_GE(kernels.size(), 2u);
  EXPECT_LE(kernels.size(), 6u);
  for (const std::string& kernel : kernels) EXPECT_EQ(toolchain.sources.count(kernel), 1u);
}

TEST(CutlassSharedKernels, OfTwentyFourLayersAreSixAtMost) {
  RecordingToolchain toolchain;
  const auto outcome = compile(layers(24), toolchain);
  EXPECT_EQ(outcome.regions.size(), 96u);
  Symbols kernels;
  std::string regions;
  for (const auto& [name, source] : toolchain.sources) {
    if (!name.starts_with("tessera_gemm_")) {
      regions += source;
      continue;
    }
    EXPECT_EQ(symbols_of(source, "TESSERA_KERNEL\\((\\w+),"), Symbols{name});
    kernels.insert(name);
    // Types of its own: the linker would take templates of equally named ones for the same.
    EXPECT_NE(source.find("namespace tessera::cutlass::" + name + " {"), std::string::npos);
  }
  EXPECT_EQ(symbols_of(regions, "return (tessera_\\w+)\\(call, &"), kernels);
  EXPECT_GE(kernels.size(), 2u);
  EXPECT_LE(kernels.size(), 6u);
  EXPECT_LE(outcome.module.externs.size(), 6u);
}

}  // namespace
}  // namespace tessera::backends
