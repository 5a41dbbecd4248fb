// SPDX-License-Identifier: Apache-2.0
// Attention without wgmma: on older architectures, and in float32 on any.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "backends/cutlass/attention/attention_configuration.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "link/toolchain.h"

namespace tessera::backends {
namespace {

using cutlass::Attention;
using cutlass::AttentionConfiguration;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::in_float32;
using cutlass::testing::kAttention;
using cutlass::testing::RecordingToolchain;
using Names = std::vector<std::string>;

// The kernel of a model that is one attention.
std::string kernel_of(const std::string& text, const char* target) {
  SCOPED_TRACE(target);
  RecordingToolchain toolchain;
  const auto outcome = compile(text, toolchain, *parse_target(target));
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.attention_merged"});
  EXPECT_TRUE(outcome.refusals.empty());
  for (const auto& [name, source] : toolchain.sources) {
    if (name.starts_with("tessera_attention_")) return name;
  }
  return "none";
}

TEST(MultistageAttention, IsWhatOlderArchitecturesTake) {
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90"}) {
    EXPECT_EQ(kernel_of(kAttention, ("cutlass -arch=" + std::string(arch)).c_str()),
              "tessera_attention_float16_64_keymask_float16_sm80_64x64");
  }
  EXPECT_EQ(kernel_of(kAttention, "cutlass"),
            "tessera_attention_float16_64_keymask_float16_sm90_64x128_SelfLoading");
}

// What is read in pairs elsewhere.
TEST(MultistageAttention, OddNumbersOfKeysAreAnotherKernel) {
  std::string text = kAttention;
  for (std::size_t at; (at = text.find("128")) != std::string::npos;) text.replace(at, 3, "197");
  EXPECT_EQ(kernel_of(text, "cutlass -arch=sm_80"),
            "tessera_attention_float16_64_keymask_float16_odd_sm80_64x64");
  EXPECT_EQ(kernel_of(text, "cutlass"),
            "tessera_attention_float16_64_keymask_float16_odd_sm90_64x128_SelfLoading");
}

TEST(MultistageAttention, IsWhatFloat32TakesAnywhere) {
  const std::string text = in_float32(kAttention);
  for (const char* target : {"cutlass", "cutlass -arch=sm_80", "cutlass -arch=sm_89"}) {
    EXPECT_EQ(kernel_of(text, target),
              "tessera_attention_float32_64_3xtf32_keymask_float32_sm80_64x64");
  }
  EXPECT_EQ(kernel_of(text, "cutlass -use_3xtf32=false"),
            "tessera_attention_float32_64_tf32_keymask_float32_sm80_64x64");
}

TEST(MultistageAttention, PlainTf32HasThePrecisionOfFloat16) {
  const auto extern_of = [](const char* target) {
    RecordingToolchain toolchain;
    const auto outcome = compile(in_float32(kAttention), toolchain, *parse_target(target));
    return outcome.module.externs.begin()->second;
  };
  EXPECT_EQ(extern_of("cutlass").float32_precision, kFloat32);
  EXPECT_EQ(extern_of("cutlass -use_3xtf32=false").float32_precision, kFloat16);
  EXPECT_EQ(extern_of("cutlass").workspace.bytes, 0);
}

TEST(MultistageAttention, OlderOnesHaveTheReason) {
  RecordingToolchain toolchain;
  const auto outcome = compile(kAttention, toolchain, *parse_target("cutlass -arch=sm_75"));
  const bool is_told =
      std::any_of(outcome.refusals.begin(), outcome.refusals.end(), [](const auto& refusal) {
        return refusal.op == "nn.softmax" &&
               refusal.reason ==
                   "kernels of attention are for sm_80 and later, the target is for sm_75";
      });
  EXPECT_TRUE(is_told);
}

// ---- Configurations

Attention attention(DType dtype, std::int64_t width, std::int64_t batch = 1) {
  Attention a;
  a.batch = batch, a.heads = 16, a.queries = a.keys = 384, a.width = width;
  a.dtype = dtype;
  return a;
}
std::vector<AttentionConfiguration> candidates(const Attention& a, const char* target) {
  const Target parsed = *parse_target(target);
  return cutlass::candidates(a, parsed, cutlass::device_of(parsed));
}

TEST(MultistageAttention, ConfigurationsReadBackEqual) {
  for (const char* text : {"sm80_64x64", "sm80_128x32"}) {
    const auto read = cutlass::parse_attention_configuration(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
    EXPECT_EQ(launches(*read), std::vector{*read});  // it cannot start early
  }
  for (const char* text : {"sm80_64", "sm80_64x64 dependent", "sm80_64x64x32_w32x32_s4 z1 auto"}) {
    EXPECT_FALSE(cutlass::parse_attention_configuration(text)) << text;
  }
}

TEST(MultistageAttention, ThereAreKernelsForAllWidthsThatFitInSharedMemory) {
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
    for (std::int64_t width = 8; width <= 256; width += 8) {
      for (const auto& [target, most] :
           {std::pair("cutlass -arch=sm_80", 163), std::pair("cutlass -arch=sm_86", 99)}) {
        const auto all = candidates(attention(dtype, width), target);
        EXPECT_FALSE(all.empty()) << to_string(dtype) << " " << width << " " << target;
        std::set<std::string> kernels;
        for (const auto& c : all) {
          EXPECT_TRUE(kernels.insert(c.kernel_name()).second);
          const std::int64_t rows = c.queries + 2 * c.keys;
          EXPECT_LE(rows * width * dtype.size_bytes(), most << 10);
        }
      }
    }
  }
  // Where there is more of it, more keys are loaded at once.
  const Attention wide = attention(kFloat32, 256);
  EXPECT_EQ(candidates(wide, "cutlass -arch=sm_86").front().kernel_name(), "sm80_64x16");
  EXPECT_EQ(candidates(wide, "cutlass -arch=sm_80").front().kernel_name(), "sm80_64x32");
}

TEST(MultistageAttention, ManyBlocksHaveMoreQueriesEach) {
  const auto first = [](const Attention& a, const char* target) {
    return candidates(a, target).front().kernel_name();
  };
  EXPECT_EQ(first(attention(kFloat16, 64, 4), "cutlass -arch=sm_80"), "sm80_64x64");   // 192
  EXPECT_EQ(first(attention(kFloat16, 64, 5), "cutlass -arch=sm_80"), "sm80_128x64");  // 240
  EXPECT_EQ(first(attention(kFloat16, 64, 4), "cutlass -arch=sm_80 -multiprocessors=96"),
            "sm80_128x64");
  Attention masked = attention(kFloat16, 64, 32);
  masked.mask = cutlass::HeadsView{};
  EXPECT_EQ(first(masked, "cutlass -arch=sm_80"), "sm80_128x64");
  masked.mask->row_stride = 384;  // rows of each query take registers
  for (const auto& c : candidates(masked, "cutlass -arch=sm_80")) EXPECT_EQ(c.queries, 64);
}

TEST(MultistageAttention, KernelsAreForMultiplesOf32) {
  for (const auto& [width, kernel] : {std::pair(8, 32), std::pair(64, 64), std::pair(72, 96),
                                      std::pair(80, 96), std::pair(256, 256)}) {
    const Attention a = attention(kFloat32, width);
    const auto c = candidates(a, "cutlass").front();
    EXPECT_EQ(kernel_width(a, c), kernel);
    EXPECT_TRUE(kernel_symbol(a, c).starts_with(
        fmt::format("tessera_attention_float32_{}_tf32_sm80_", kernel)));
  }
}

// ---- Compiled

// Kernels of 16 bits with causal and other masks, and of float32 by three products.
TEST(SlowKernels, OfMultistageAttentionCompile) {
  if (!cutlass::testing::can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const std::string half = R"(
def @main(%q: Tensor[(2, 4, 96, 80), float16], %m: Tensor[(2, 1, 96, 96), bool]) {
  %0 = nn.matmul(%q, transpose(%q, axes=[0, 1, 3, 2]), units=None);
  nn.matmul(nn.softmax(where(%m, %0, -10000f16), axis=3), %q, units=None)
})";
  for (const auto& [text, target] : {std::pair(half, "cutlass -arch=sm_80"),
                                     std::pair(in_float32(kAttention), "cutlass -arch=sm_90a")}) {
    const auto outcome = compile(text, *toolchain, *parse_target(target));
    EXPECT_TRUE(outcome.refusals.empty());
    ASSERT_EQ(outcome.module.artifacts.size(), 1u);
    EXPECT_EQ(
        cutlass::testing::kernels_in(outcome.module.artifacts[0].payload, "tessera_attention_"), 1);
  }
}

}  // namespace
}  // namespace tessera::backends
