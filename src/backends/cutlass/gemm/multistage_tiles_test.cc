// SPDX-License-Identifier: Apache-2.0
// Which kernels of the multistage schedule products and convolutions can choose from.
#include "backends/cutlass/gemm/multistage_tiles.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/gemm/time_model.h"
#include "backends/cutlass/testing/integers.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/tuning_tasks.h"
#include "link/toolchain.h"

namespace tessera::backends {
namespace {

using cutlass::Configuration;
using cutlass::Gemm;
using cutlass::Schedule;
using cutlass::testing::can_compile;
using cutlass::testing::compile;
using cutlass::testing::expect_lines;
using cutlass::testing::kernels_in;
using cutlass::testing::OneMeasurement;
using cutlass::testing::tasks_of;
using NameSet = std::set<std::string>;

// Those that Relay's CUTLASS back end knows for sm_80, where K is 32 elements of 16 bits:
// MxN, K in 32 elements of 16 bits, stages, warps along M and N.
constexpr int kListed[][6] = {
    {256, 128, 1, 3, 4, 2}, {128, 256, 1, 3, 2, 4}, {256, 64, 1, 4, 4, 1},  {64, 256, 1, 4, 1, 4},
    {128, 128, 1, 3, 2, 2}, {128, 128, 1, 4, 2, 2}, {128, 128, 1, 5, 2, 2}, {128, 64, 1, 6, 2, 2},
    {64, 128, 1, 6, 2, 2},  {64, 64, 1, 10, 2, 2},  {256, 128, 2, 3, 4, 2}, {128, 256, 2, 3, 2, 4},
    {256, 64, 2, 4, 4, 1},  {64, 256, 2, 4, 1, 4},  {128, 128, 2, 4, 2, 2}, {128, 64, 2, 3, 2, 2},
    {64, 128, 2, 3, 2, 2},  {64, 64, 2, 5, 2, 2}};
// The same for float32 by three products, where K is 16 elements.
constexpr int kListedEmulating[][6] = {
    {128, 128, 1, 4, 4, 2}, {128, 128, 1, 3, 4, 2}, {256, 64, 1, 3, 4, 2}, {64, 256, 1, 3, 2, 4},
    {128, 64, 1, 4, 2, 2},  {64, 128, 1, 4, 2, 2},  {64, 64, 1, 3, 2, 2},  {128, 128, 2, 3, 4, 2},
    {256, 64, 2, 3, 4, 2},  {64, 256, 2, 3, 2, 4},  {128, 64, 2, 3, 2, 2}, {64, 128, 2, 3, 2, 2},
    {64, 64, 2, 3, 2, 2}};

std::string name_of(const int (&listed)[6], int step) {
  const auto& [m, n, steps, stages, warps_m, warps_n] = listed;
  return fmt::format("sm80_{}x{}x{}_w{}x{}_s{}", m, n, steps * step, m / warps_m, n / warps_n,
                     stages);
}

Gemm product(DType dtype, std::int64_t align, std::int64_t size = 4096) {
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = size;
  gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = dtype;
  gemm.sum_dtype = dtype == kInt8 ? kInt32 : kFloat32;
  gemm.a_align = gemm.b_align = gemm.d_align = align;
  return gemm;
}

Gemm convolution(DType dtype, std::int64_t align) {
  Gemm gemm = product(dtype, align);
  const ops::WindowAxis three{3, 1, 1, 1, 1};
  gemm.m = 8 * 14 * 14, gemm.n = 64, gemm.k = 9 * 63;
  gemm.convolution = cutlass::Convolution{8, 14, 14, 63, 14, 14, 64, {three, three}};
  return gemm;
}

NameSet kernels_of(const Gemm& gemm, const std::string& target = "cutlass -arch=sm_80") {
  const Target parsed = *parse_target(target);
  NameSet names;
  for (const auto& c : cutlass::candidates(gemm, parsed, cutlass::device_of(parsed))) {
    EXPECT_EQ(c.schedule, Schedule::kMultistage);
    EXPECT_TRUE(names.insert(c.kernel_name()).second) << c.text();
  }
  return names;
}

TEST(MultistageTiles, AreThoseOfTheListAndTwoThatAreSmaller) {
  const struct {
    DType dtype;
    int align, step;
  } cases[] = {{kFloat16, 8, 32}, {kFloat16, 2, 32}, {kFloat32, 4, 16}, {kInt8, 16, 64}};
  for (const auto& [dtype, align, step] : cases) {
    NameSet expected;
    for (const auto& listed : kListed) expected.insert(name_of(listed, step));
    for (const char* shape : {"sm80_128x64x{}_w64x32_s4", "sm80_64x64x{}_w32x32_s5"}) {
      expected.insert(fmt::format(fmt::runtime(shape), step));
    }
    EXPECT_EQ(kernels_of(product(dtype, align)), expected) << to_string(dtype);
  }
}

TEST(MultistageTiles, OfThreeProductsAreThoseOfTheirList) {
  NameSet expected;
  for (const auto& listed : kListedEmulating) expected.insert(name_of(listed, 16));
  Gemm gemm = product(kFloat32, 1);
  gemm.emulates_float32 = true;
  EXPECT_EQ(kernels_of(gemm), expected);
}

TEST(MultistageTiles, FitTheSharedMemoryOfTheDevice) {
  constexpr int kBytes = 99 << 10;
  NameSet expected;
  for (const auto& listed : kListed) {
    const auto& [m, n, steps, stages, warps_m, warps_n] = listed;
    if ((m + n) * steps * 64 * stages <= kBytes) expected.insert(name_of(listed, 32));
  }
  NameSet found = kernels_of(product(kFloat16, 8), "cutlass -arch=sm_86");
  EXPECT_EQ(found.erase("sm80_128x64x32_w64x32_s4") + found.erase("sm80_64x64x32_w32x32_s5"), 2u);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(expected.size(), 13u);
  EXPECT_EQ(kernels_of(product(kFloat16, 8), "cutlass -arch=sm_89").size(), 15u);
}

// Single elements of 16 bits go through registers: what differs in stages alone is one kernel. A
// thread can have 64 copies of a tile.
TEST(MultistageTiles, OfSingleElementsHaveTwoStages) {
  NameSet expected;
  for (const auto& listed : kListed) {
    const auto& [m, n, steps, stages, warps_m, warps_n] = listed;
    const int threads = 32 * warps_m * warps_n;
    const int with_two_stages[] = {m, n, steps, 2, warps_m, warps_n};
    if (std::max(m, n) * steps * 32 / threads <= 64) expected.insert(name_of(with_two_stages, 32));
  }
  EXPECT_EQ(expected.size(), 14u);
  EXPECT_EQ(kernels_of(product(kFloat16, 1)), expected);
  EXPECT_EQ(kernels_of(convolution(kFloat16, 1)), expected);
  // Two elements at a time are half as many copies.
  EXPECT_TRUE(kernels_of(product(kFloat16, 2)).contains("sm80_256x64x64_w64x64_s4"));
}

TEST(MultistageTiles, ConvolutionsMayReadLessThanTheyCould) {
  Gemm gemm = convolution(kFloat16, 8);
  gemm.convolution->channels = 64, gemm.k = 9 * 64;
  const NameSet all = kernels_of(gemm, "cutlass -arch=sm_80 -profile_all_alignments");
  const auto with = [&](const char* align) {
    return std::count_if(all.begin(), all.end(),
                         [&](const std::string& name) { return name.ends_with(align); });
  };
  EXPECT_EQ(with("_a4"), 20);
  EXPECT_EQ(with("_a2"), 20);
  EXPECT_EQ(with("_s2_a1"), 14);
  EXPECT_EQ(all.size(), 20u + 20 + 20 + 14);
  // Beside those that TMA reads for, which has no such choice.
  const auto beside = cutlass::candidates(gemm, *parse_target("cutlass -profile_all_alignments"),
                                          cutlass::Device());
  EXPECT_EQ(std::count_if(beside.begin(), beside.end(),
                          [](const Configuration& c) { return c.align == 8; }),
            20);
  EXPECT_EQ(beside.front().schedule, Schedule::kImplicit);
}

TEST(MultistageTiles, KernelsOfConvolutionsReadAsTheirNamesSay) {
  const auto task = tasks_of(
                        "def @main(%x: Tensor[(2, 14, 14, 64), float16], %w: Tensor[(64, 3, 3, "
                        "64), float16]) {\n  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], "
                        "data_layout=\"NHWC\", kernel_layout=\"OHWI\")\n}",
                        *parse_target("cutlass -profile_all_alignments"))
                        .front();
  std::set<int> aligned;
  for (const auto& candidate : task.candidates) {
    const int align = cutlass::parse_configuration(candidate.configuration)->align;
    if (align == 0 || !aligned.insert(align).second) continue;
    expect_lines(
        candidate.kernel->source.text(),
        {"ConvSm80<", fmt::format("kAlignA = {0}, kAlignB = {0}, kAlignD = {0};", align).c_str()});
  }
  EXPECT_EQ(aligned, (std::set<int>{1, 2, 4, 8}));
}

TEST(MultistageTiles, LeaveAThreadItsRegisters) {
  Gemm emulating = product(kFloat32, 4);
  emulating.emulates_float32 = true;
  for (const Gemm& gemm : {product(kFloat16, 8), product(kInt8, 16), emulating}) {
    const int most = gemm.emulates_float32 ? 64 : 128;
    for (const Configuration& c : cutlass::multistage_kernels(gemm, 0)) {
      const int threads = 32 * cutlass::warps_of_block(c);
      EXPECT_TRUE(threads == 128 || threads == 256) << c.text();
      EXPECT_LE(c.tile_m * c.tile_n / threads, most) << c.text();
      EXPECT_EQ(c.tile_m % c.warp_m + c.tile_n % c.warp_n, 0) << c.text();
    }
  }
}

// 65536 registers, of which 254 a thread, 154 and 110 are taken; 228, 164 and 100 KiB.
TEST(MultistageTiles, ShareAMultiprocessorByWhatTheyTake) {
  const auto blocks = [](const char* kernel, const char* target) {
    return cutlass::resident_blocks(product(kFloat16, 8),
                                    *cutlass::parse_configuration(std::string(kernel) + " z1 auto"),
                                    cutlass::device_of(*parse_target(target)));
  };
  EXPECT_EQ(blocks("sm80_128x128x32_w64x64_s4", "cutlass"), 2);              // registers
  EXPECT_EQ(blocks("sm80_128x128x32_w64x64_s4", "cutlass -arch=sm_86"), 1);  // 64 KiB
  EXPECT_EQ(blocks("sm80_128x64x32_w64x32_s4", "cutlass -arch=sm_80"), 3);
  EXPECT_EQ(blocks("sm80_128x64x32_w64x32_s6", "cutlass -arch=sm_80"), 2);
  EXPECT_EQ(blocks("sm80_256x128x64_w64x64_s3", "cutlass"), 1);
}

// What ptxas of CUDA 13.0 says of products on sm_80; more than 255 spill.
TEST(MultistageTiles, TakeRegistersAsTheCompilerCounts) {
  Gemm emulating = product(kFloat32, 4);
  emulating.emulates_float32 = true;
  const struct {
    const char* kernel;
    int counted;
    Gemm gemm;
  } cases[] = {{"sm80_64x64x64_w32x32_s5", 110, product(kFloat16, 8)},
               {"sm80_128x64x32_w64x32_s6", 146, product(kFloat16, 8)},
               {"sm80_128x256x32_w64x64_s3", 254, product(kFloat16, 8)},
               {"sm80_64x64x128_w32x32_s5", 96, product(kInt8, 16)},
               {"sm80_64x64x16_w32x32_s3", 164, emulating},
               {"sm80_128x128x16_w32x64_s4", 250, emulating},
               {"sm80_64x64x32_w32x32_s2", 142, product(kFloat16, 1)},
               {"sm80_64x64x64_w32x32_s2", 168, product(kFloat16, 1)},
               {"sm80_128x64x64_w64x32_s2", 250, product(kFloat16, 1)}};
  for (const auto& [kernel, counted, gemm] : cases) {
    const auto c = *cutlass::parse_configuration(std::string(kernel) + " z1 auto");
    EXPECT_NEAR(cutlass::registers_of_thread(gemm, c), counted, 0.15 * counted) << kernel;
  }
}

double microseconds(const Gemm& gemm, const char* kernel, const char* target = "cutlass") {
  return cutlass::estimated_microseconds(
      gemm, *cutlass::parse_configuration(std::string(kernel) + " z1 auto"),
      cutlass::device_of(*parse_target(target)));
}

TEST(MultistageTiles, TheModelKnowsStagesAndBlocks) {
  // With a block for each multiprocessor, steps wait for what they read.
  const Gemm small = product(kFloat16, 2, 512);
  EXPECT_LT(microseconds(small, "sm80_128x64x32_w64x32_s6"),
            microseconds(small, "sm80_128x64x32_w64x32_s4"));
  // With several, one multiplies while another waits, and more stages leave room for fewer.
  const Gemm large = product(kFloat16, 2);
  EXPECT_LT(microseconds(large, "sm80_128x128x32_w64x64_s3", "cutlass -arch=sm_86"),
            microseconds(large, "sm80_128x128x32_w64x64_s5", "cutlass -arch=sm_86"));
  EXPECT_LT(microseconds(large, "sm80_128x128x32_w64x64_s4"),
            microseconds(large, "sm80_64x64x32_w32x32_s5"));
  EXPECT_LT(microseconds(small, "sm80_64x64x32_w32x32_s5"),
            microseconds(small, "sm80_256x128x32_w64x64_s3"));
}

// What `tessera tune` compiles, if nobody says how many, has tiles and stages of several kinds.
TEST(MultistageTiles, TheFirstOnesThatAreMeasuredDiffer) {
  for (const char* sizes : {"128 1024 1022", "4096 4096 4094"}) {
    int m = 0, n = 0, k = 0;
    ASSERT_EQ(std::sscanf(sizes, "%d %d %d", &m, &n, &k), 3);
    const auto task = tasks_of(fmt::format("def @main(%x: Tensor[({0}, {2}), float16], %w: "
                                           "Tensor[({1}, {2}), float16]) {{\n"
                                           "  nn.dense(%x, %w, units=None)\n}}",
                                           m, n, k))
                          .front();
    std::set<std::pair<int, int>> tiles;
    std::set<int> stages;
    for (const std::size_t i : cutlass::testing::first_of_kernels(task, 8)) {
      const auto c = *cutlass::parse_configuration(task.candidates[i].configuration);
      tiles.insert({c.tile_m, c.tile_n});
      stages.insert(c.stages);
    }
    EXPECT_GE(tiles.size(), 3u) << sizes;
    EXPECT_GE(stages.size(), 2u) << sizes;
    EXPECT_EQ(cutlass::testing::first_of_kernels(task, 99).size(), 20u);
  }
}

// ---- With nvcc

// A tile of four warps above each other, as deep as shared memory allows, with sums in parts; and
// one of eight warps through registers.
TEST(SlowKernels, OfSeveralStagesCompile) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 1});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const struct {
    const char *configuration, *text;
  } cases[] = {
      {"sm80_256x64x64_w64x64_s4 z1 auto split3",
       "def @main(%x: Tensor[(300, 1022), float16], %w: Tensor[(65, 1022), float16], %b: "
       "Tensor[(65), float16]) { nn.relu(add(nn.dense(%x, %w, units=None), %b)) }"},
      {"sm80_128x256x64_w64x64_s2 z1 auto",
       "def @main(%x: Tensor[(2, 9, 9, 63), float16], %w: Tensor[(63, 3, 3, 63), float16]) { "
       "nn.conv2d(%x, %w, data_layout=\"NHWC\", kernel_layout=\"OHWI\") }"}};
  for (const auto& [configuration, text] : cases) {
    const OneMeasurement measured(configuration);
    const auto outcome = compile(text, *toolchain, Target("cutlass"), &measured);
    for (const auto& refusal : outcome.refusals) ADD_FAILURE() << refusal.reason;
    ASSERT_EQ(outcome.module.artifacts.size(), 1u) << configuration;
    const std::string kernel = cutlass::parse_configuration(configuration)->kernel_name();
    const std::string& payload = outcome.module.artifacts[0].payload;
    EXPECT_EQ(kernels_in(payload, "tessera_gemm_") + kernels_in(payload, "tessera_conv_"), 1);
    EXPECT_NE(payload.find(kernel + "_image"), std::string::npos) << kernel;
  }
}

}  // namespace
}  // namespace tessera::backends
