// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/configuration.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/gemm/time_model.h"

namespace tessera::backends::cutlass {
namespace {

Gemm float16_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Gemm gemm;
  gemm.m = m, gemm.n = n, gemm.k = k;
  gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = kFloat16;
  gemm.a_align = gemm.b_align = gemm.d_align = 8;
  return gemm;
}

TEST(Configurations, ReadBackEqual) {
  for (const char* text :
       {"sm90_128x192x64_c2x1_pingpong z1 auto", "sm90_64x32x128_c1x1_pingpong z8 m dependent",
        "sm90_256x128x64_c1x2_cooperative z1 n", "sm90_128x64x64_c1x1_streamk z2 auto",
        "sm80_128x64x32_w64x32_s4 z1 auto", "sm80_64x64x32_w32x32_s2_a1 z2 auto"}) {
    const auto read = parse_configuration(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
  EXPECT_FALSE(parse_configuration("sm90_128x192_c2x1_pingpong z1 auto"));
  EXPECT_FALSE(parse_configuration(""));
}

// What the device's code and the model of its time both go by.
TEST(Configurations, SmallTilesOfTheImplicitScheduleShareAMultiprocessor) {
  EXPECT_EQ(blocks_per_multiprocessor({Schedule::kImplicit, 64, 128}), 2);
  EXPECT_EQ(blocks_per_multiprocessor({Schedule::kImplicit, 128, 64}), 2);
  EXPECT_EQ(blocks_per_multiprocessor({Schedule::kImplicit, 128, 96}), 1);
  EXPECT_EQ(blocks_per_multiprocessor({Schedule::kPingpong, 64, 64}), 1);
}

// Sizes of BERT-large against what measurements found: bench/results/2026-11-21-cutlass-gemm.md.
TEST(Configurations, TheModelAgreesWithMeasurements) {
  const auto best = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto c = candidates(float16_product(m, n, k), Target("cutlass"), {}).front();
    return fmt::format("{}x{}", c.tile_m, c.tile_n);
  };
  EXPECT_EQ(best(12288, 4096, 1024), "128x192");
  EXPECT_EQ(best(12288, 1024, 4096), "128x128");
  EXPECT_EQ(best(12288, 3072, 1024), "128x192");
  EXPECT_EQ(best(12288, 1024, 1024), "128x128");
  EXPECT_EQ(best(3072, 3072, 1024), "128x192");
  EXPECT_EQ(best(3072, 1024, 1024), "128x96");
  EXPECT_EQ(best(3072, 1024, 4096), "128x96");
  EXPECT_EQ(best(128, 4096, 1024), "64x64");
  EXPECT_EQ(best(128, 3072, 1024), "64x64");
  EXPECT_EQ(best(128, 1024, 1024), "64x32");
  EXPECT_EQ(best(128, 1024, 4096), "64x32");
}

// The same, of bench/results/2026-11-21-tuning.md.
TEST(Configurations, NarrowTilesStartEarlyWhereThereIsOneWave) {
  const auto is_early = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    for (const auto& c : candidates(float16_product(m, n, k), Target("cutlass"), {})) {
      if (c.kernel_name() == "sm90_64x128x64_c1x1_pingpong") return c.is_dependent;
    }
    return false;
  };
  EXPECT_TRUE(is_early(1568, 128, 256));
  EXPECT_FALSE(is_early(3072, 1024, 4096));
  EXPECT_TRUE(is_early(384, 4096, 1024));
}

TEST(Configurations, AreForTheDeviceOfTheTarget) {
  const auto device = [](std::string_view text) {
    return device_of(*parse_target(text)).multiprocessors;
  };
  EXPECT_EQ(device("cutlass"), 132);
  EXPECT_EQ(device("cutlass -sm=80"), 108);
  EXPECT_EQ(device("cutlass -multiprocessors=114"), 114);
  EXPECT_EQ(architecture(*parse_target("cutlass -sm=80")), "sm_80");
  EXPECT_TRUE(has_kernels(Target("cutlass")));
  EXPECT_FALSE(has_kernels(*parse_target("cutlass -arch=sm_75")));
  // 108 tiles of 128 x 128 are one wave of an A100; of 72 multiprocessors, two.
  const Gemm gemm = float16_product(1536, 1152, 1024);
  const Configuration c = parse_configuration("sm80_128x128x32_w64x64_s4 z1 auto").value();
  EXPECT_GT(estimated_microseconds(gemm, c, device_of(*parse_target("cutlass -sm=86"))),
            1.5 * estimated_microseconds(gemm, c, device_of(*parse_target("cutlass -sm=80"))));
}

// bench/results/2026-11-22-whole-models-gpu.md: blocks that share a tile add their sums one after
// the other, so that few of them are better than many, and narrow tiles better than both.
TEST(Configurations, SharedSumsCostWhatWasMeasured) {
  const Gemm gemm = float16_product(64, 256, 16384);
  const auto estimated = [&](const char* text) {
    return estimated_microseconds(gemm, parse_configuration(text).value(), {});
  };
  EXPECT_NEAR(estimated("sm90_128x64x64_c1x1_streamk z1 auto"), 52, 8);
  EXPECT_NEAR(estimated("sm90_128x64x64_c1x1_streamk z1 auto split8"), 26, 4);
  EXPECT_NEAR(estimated("sm90_128x64x64_c1x1_streamk z1 auto split4"), 31, 4);
  EXPECT_EQ(candidates(gemm, Target("cutlass"), {}).front().schedule, Schedule::kPingpong);
}

TEST(Configurations, SharedTilesNeedRoomForTheirSums) {
  Gemm gemm = float16_product(64, 256, 16384);
  const Configuration shared = parse_configuration("sm90_128x64x64_c1x1_streamk z1 auto").value();
  // Four tiles of sums, and two locks for each.
  EXPECT_GE(workspace_bytes(gemm, shared), 4 * (128 * 64 * 4 + 2 * 4));
  const auto all = candidates(gemm, Target("cutlass"), {});
  EXPECT_NE(std::find(all.begin(), all.end(), shared), all.end());
  for (const auto& launch : launches(gemm, shared, Target("cutlass"))) {
    EXPECT_FALSE(launch.is_dependent);
  }
  // Where there is no number of tiles there is none of bytes.
  gemm.m = Dim::symbol("rows");
  for (const auto& c : candidates(gemm, Target("cutlass"), {})) {
    EXPECT_NE(c.schedule, Schedule::kStreamK);
  }
}

// Parts of less than a step there are none of; kernels that share no tiles are not split.
TEST(Configurations, SumsAreSplitAsTheTargetSays) {
  const auto texts_of = [](std::int64_t k, Schedule schedule) {
    const Configuration c{schedule, 128, 64, 64};
    std::vector<std::string> texts;
    for (const auto& launch : launches(float16_product(64, 256, k), c,
                                       *parse_target("cutlass -split_k_slices=1,2,4 -raster=m"))) {
      texts.push_back(launch.text());
      EXPECT_EQ(parse_configuration(launch.text()), launch) << launch.text();
    }
    return texts;
  };
  const std::string kernel = "sm90_128x64x64_c1x1_streamk z1 auto";
  EXPECT_EQ(texts_of(256, Schedule::kStreamK),
            (std::vector<std::string>{kernel, kernel + " split2", kernel + " split4"}));
  EXPECT_EQ(texts_of(128, Schedule::kStreamK),
            (std::vector<std::string>{kernel, kernel + " split2"}));
  for (const std::string& text : texts_of(256, Schedule::kCooperative)) {
    EXPECT_EQ(text.find("split"), std::string::npos) << text;
  }
  EXPECT_FALSE(parse_configuration(kernel + " split1"));
  EXPECT_FALSE(parse_configuration(kernel + " split"));
}

}  // namespace
}  // namespace tessera::backends::cutlass
