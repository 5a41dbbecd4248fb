// SPDX-License-Identifier: Apache-2.0
// What there is to measure, and what is taken of what was measured.
#include "backends/cutlass/measuring/tuning.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/testing/models.h"
#include "backends/cutlass/testing/tuning_tasks.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::first_of_kernels;
using cutlass::testing::kAttention;
using cutlass::testing::kConvolutions;
using cutlass::testing::kFeedForward;
using cutlass::testing::layers;
using cutlass::testing::OneMeasurement;
using cutlass::testing::parse;
using cutlass::testing::placed;
using cutlass::testing::RecordingToolchain;
using cutlass::testing::tasks_of;

std::set<std::string> kernels_of(const byoc::TuningTask& task) {
  std::set<std::string> names;
  for (const auto& candidate : task.candidates) names.insert(candidate.kernel->name);
  return names;
}

TEST(CutlassTuning, EqualWorkIsOneTask) {
  const auto tasks = tasks_of(layers(24));
  ASSERT_EQ(tasks.size(), 4u);
  std::size_t uses = 0;
  for (const byoc::TuningTask& task : tasks) {
    uses += task.uses;
    EXPECT_EQ(task.device, "sm_90a 132 ");
    EXPECT_EQ(task.seconds, 60);
    EXPECT_GT(kernels_of(task).size(), 8u);
    // Ways to launch a kernel stand together, and differ.
    std::set<std::string> configurations;
    for (const auto& candidate : task.candidates) {
      const auto c = cutlass::parse_configuration(candidate.configuration);
      ASSERT_TRUE(c) << candidate.configuration;
      EXPECT_TRUE(candidate.kernel->name.ends_with(c->kernel_name()));
      EXPECT_TRUE(configurations.insert(candidate.configuration).second);
    }
  }
  EXPECT_EQ(uses, 96u);
}

TEST(CutlassTuning, SumsOfIntegersAreMeasuredAsThose) {
  const auto tasks = tasks_of(R"(
def @main(%x: Tensor[(128, 256), uint8], %w: Tensor[(512, 256), int8], %z: Tensor[(512), int32]) {
  subtract(nn.dense(%x, %w, units=None, out_dtype="int32"), %z)
})");
  ASSERT_EQ(tasks.size(), 1u);
  const byoc::TuningTask& task = tasks[0];
  EXPECT_TRUE(
      task.workload.text().starts_with("gemm m=128 n=512 k=256 batch=1 a=uint8:row:16 "
                                       "b=int8:column:16 sum=int32 d=int32:4 row:int32 {"))
      << task.workload.text();
  for (const char* line : {"using A = uint8_t;", "using B = int8_t;", "using Sum = int32_t;",
                           "static __device__ int32_t element(int32_t sum, int32_t x0) {"}) {
    EXPECT_NE(task.program.source.text().find(line), std::string::npos)
        << line << task.program.source.text();
  }
  // Each step is rounded for itself, in kernels and in what they are compared with.
  for (const CompileJob* job : {&task.program, task.candidates.front().kernel.get()}) {
    EXPECT_EQ(std::count(job->flags.begin(), job->flags.end(), "-fmad=false"), 1) << job->name;
  }
}

// What differs in sizes, strides and padding is measured on its own, by one program.
TEST(CutlassTuning, ConvolutionsAreMeasuredOnTheImagesOfTheirWindows) {
  const auto tasks = tasks_of(kConvolutions, Target("cutlass"), {{"n", Dim(8)}});
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].uses, 1u);
  EXPECT_EQ(tasks[1].uses, 2u);
  EXPECT_EQ(tasks[0].title.find("?nx29x28x64 by 3x3 strides 2x1 dilation 1x1 padding 0,1,2,1, 128 "
                                "channels float16: nn.conv2d, add, nn.relu"),
            0u)
      << tasks[0].title;
  EXPECT_EQ(tasks[0].workload.text().find("conv 8x29x28x64 by 3x3 strides 2x1 "), 0u);
  EXPECT_EQ(tasks[0].program.source.text(), tasks[1].program.source.text());
  EXPECT_NE(tasks[0].program.source.text().find("kGathered = Gathered::kImage;"),
            std::string::npos);
  const std::size_t first[] = {0};
  const std::string table = tasks[0].table(first).source.text();
  for (const char* line :
       {"    3360, 128, 576, 1,  // m, n, k, batch\n",
        "    0, 0, 0, 0, {8, 29, 28, 64, 3, 3, 15, 28, {2, 1}, {1, 1}, {0, 1, 2, 1}}};\n"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << table;
  }
  EXPECT_GT(kernels_of(tasks[0]).size(), 8u);
}

TEST(CutlassTuning, AttentionIsMeasuredOnItsStrides) {
  const auto tasks = tasks_of(kAttention);
  ASSERT_EQ(tasks.size(), 1u);
  const byoc::TuningTask& task = tasks[0];
  EXPECT_EQ(task.workload.text(),
            "attention batch=2 heads=16 queries=128 keys=128 float16 width=64 keymask float16 "
            "q=0+0:393216:64:3072 k=0+1024:393216:64:3072 v=0+2048:393216:64:3072 "
            "o=131072:64:1024 mask=128:0:0");
  EXPECT_EQ(task.title, "2 x 16 heads of 64, 128 queries, 128 keys float16: attention with a mask");
  std::vector<std::string> configurations;
  for (const auto& candidate : task.candidates) {
    configurations.push_back(candidate.configuration);
    const auto c = cutlass::parse_attention_configuration(candidate.configuration);
    ASSERT_TRUE(c) << candidate.configuration;
    EXPECT_EQ(candidate.kernel->name,
              "tessera_attention_float16_64_keymask_float16_" + c->kernel_name());
  }
  EXPECT_EQ(configurations,
            (std::vector<std::string>{
                "sm90_64x128_SelfLoading dependent", "sm90_64x128_SelfLoading",
                "sm90_128x128_PersistentPair dependent", "sm90_128x128_PersistentPair",
                "sm90_64x192_SelfLoading dependent", "sm90_64x192_SelfLoading",
                "sm90_128x192_PersistentPair dependent", "sm90_128x192_PersistentPair",
                "sm90_64x64_SelfLoading dependent", "sm90_64x64_SelfLoading"}));
}

TEST(CutlassTuning, WhatWasMeasuredOfAttentionIsTaken) {
  const auto regions = [](const char* configuration) {
    const OneMeasurement measured(configuration);
    RecordingToolchain toolchain;
    compile(kAttention, toolchain, Target("cutlass"), &measured);
    EXPECT_EQ(measured.workloads, (std::set<std::string>{tasks_of(kAttention)[0].workload.text()}));
    return toolchain.sources.at("cutlass_regions");
  };
  const std::string fast = regions("sm90_64x192_SelfLoading");
  EXPECT_NE(fast.find("  a.dependent = 0;\n  return tessera_attention_float16_64_keymask_float16_"
                      "sm90_64x192_SelfLoading(call, &a);"),
            std::string::npos)
      << fast;
  const std::string unknown = regions("sm90_64x320_SelfLoading dependent");
  EXPECT_NE(
      unknown.find("  a.dependent = 1;\n  return tessera_attention_float16_64_keymask_float16_"
                   "sm90_64x128_SelfLoading(call, &a);"),
      std::string::npos)
      << unknown;
}

// Records are made with other options, too.
TEST(CutlassTuning, WhatTheTargetExcludesIsNotTaken) {
  const auto launch = [](const char* options, const char* configuration) {
    const OneMeasurement measured(configuration);
    RecordingToolchain toolchain;
    compile(kFeedForward, toolchain, *parse_target(std::string("cutlass ") + options), &measured);
    const std::string& text = toolchain.sources.at("cutlass_regions");
    const std::size_t at = text.find("g.swizzle = ");
    return text.substr(at, text.find(", g.dependent", at) - at);
  };
  const char* kBandsOfEight = "sm90_128x128x64_c1x1_cooperative z8 m";
  const char* kEight = "g.swizzle = 8, g.raster_along_m = 1";
  const char* kTwo = "g.swizzle = 2, g.raster_along_m = 0";
  EXPECT_EQ(launch("", kBandsOfEight), kEight);
  EXPECT_EQ(launch("-raster=m -swizzle=8", kBandsOfEight), kEight);
  EXPECT_EQ(launch("-raster=n -swizzle=2", kBandsOfEight), kTwo);
  EXPECT_EQ(launch("-raster=n -swizzle=2", "sm90_128x128x64_c1x1_cooperative z2 n"), kTwo);
  EXPECT_EQ(launch("-raster=n", kBandsOfEight), "g.swizzle = 1, g.raster_along_m = 0");
  EXPECT_EQ(launch("-swizzle=4", kBandsOfEight), "g.swizzle = 4, g.raster_along_m = -1");
  EXPECT_EQ(launch("-cluster_shapes=2,1", kBandsOfEight), "g.swizzle = 1, g.raster_along_m = -1");
}

// The functions of the regions, or nothing where none was compiled.
std::string regions_of(const std::string& model, const std::vector<byoc::Failure>& failures) {
  const OneMeasurement measured("", failures);
  RecordingToolchain toolchain;
  compile(model, toolchain, Target("cutlass"), &measured);
  const auto regions = toolchain.sources.find("cutlass_regions");
  return regions == toolchain.sources.end() ? "" : regions->second;
}

// What failed when it was measured is passed over: in its way of launching, or with its kernel.
TEST(CutlassTuning, WhatFailedIsNotTaken) {
  constexpr const char* kProduct = R"(
def @main(%x: Tensor[(128, 1024), float16], %w: Tensor[(4096, 1024), float16]) {
  nn.dense(%x, %w, units=None)
})";
  for (const char* model : {kProduct, kAttention}) {
    const byoc::TuningTask task = tasks_of(model).front();
    const auto numbers = first_of_kernels(task, 2);
    const auto call = [&](std::size_t number) {
      return "return " + task.candidates[number].kernel->name + "(call, &";
    };
    const auto has = [&](const std::string& regions, std::size_t number) {
      return regions.find(call(number)) != std::string::npos;
    };
    const auto failure = [&](std::size_t number, bool is_of_kernel) {
      return byoc::Failure{task.candidates[number].configuration, "it computes wrong numbers",
                           is_of_kernel};
    };
    EXPECT_TRUE(has(regions_of(model, {}), numbers[0]));
    const std::string second = regions_of(model, {failure(numbers[0], false)});
    EXPECT_TRUE(has(second, numbers[1]) && !has(second, numbers[0])) << second;
    // The last one that is left; another way to launch the first kernel if that compiles.
    std::vector<byoc::Failure> all_but_second_way;
    for (std::size_t i = 0; i < task.candidates.size(); ++i) {
      if (i != 1) all_but_second_way.push_back(failure(i, false));
    }
    EXPECT_TRUE(has(regions_of(model, all_but_second_way), numbers[0]));
    all_but_second_way.front().is_of_kernel = true;
    const std::string none = regions_of(model, all_but_second_way);
    for (const std::size_t number : numbers) EXPECT_FALSE(has(none, number)) << none;
    // The products of an attention are work of their own.
    EXPECT_EQ(none.empty(), model == kProduct) << none;
  }
}

TEST(CutlassTuning, WhereAllFailedTheRegionIsDeclinedWithTheReason) {
  const Target target("cutlass");
  const byoc::BackendChoice choices[] = {{&cutlass_backend(), target}};
  for (const char* model : {kFeedForward, kAttention}) {
    std::vector<byoc::Failure> failures;
    for (const byoc::TuningTask& task : tasks_of(model)) {
      for (const auto& candidate : task.candidates) {
        failures.push_back({candidate.configuration, "it computes wrong numbers: off by 1"});
      }
    }
    const OneMeasurement measured("", failures);
    RecordingToolchain toolchain;
    byoc::CompileContext context{toolchain, 2, true, {}, &measured};
    const auto compiled = byoc::compile_backends(placed(parse(model)), choices, context);
    ASSERT_FALSE(compiled);
    const std::string expected = fmt::format(
        "the records say that no configuration can be used; `{}`: it computes wrong numbers: off "
        "by 1",
        failures.front().configuration);
    EXPECT_NE(render(compiled.error()).find(expected), std::string::npos)
        << render(compiled.error());
    EXPECT_TRUE(toolchain.sources.empty());
  }
}

// The first candidate of a task is what is taken where nothing was measured.
TEST(CutlassTuning, TheFirstCandidateIsTheModelsChoice) {
  RecordingToolchain toolchain;
  compile(kFeedForward, toolchain);
  for (const byoc::TuningTask& task : tasks_of(kFeedForward)) {
    EXPECT_TRUE(toolchain.sources.contains(task.candidates.front().kernel->name)) << task.title;
  }
}

TEST(CutlassTuning, SymbolsAreMeasuredAtTheirLikelySizes) {
  std::string text = kFeedForward;
  text.replace(text.find("(1, 128, 1024)"), 14, "(1, ?seq, 1024)");
  EXPECT_TRUE(tasks_of(text).empty());
  const auto tasks = tasks_of(text, Target("cutlass"), {{"seq", Dim(384)}});
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].workload.text().find("gemm m=384 n="), 0u) << tasks[0].workload.text();
  const std::size_t first[] = {0};
  EXPECT_NE(tasks[0].table(first).source.text().find("384, "), std::string::npos);
  EXPECT_TRUE(tasks[0].title.ends_with(", measured at 384")) << tasks[0].title;
}

// The same work, whether a model says its sizes or leaves them open; kernels of open sizes are
// fewer.
TEST(CutlassTuning, OpenSizesAreTheWorkOfThatSize) {
  const std::string text = kFeedForward;
  std::string open = text;
  open.replace(text.find("(1, 128, 1024)"), 14, "(1, ?seq, 1024)");
  const auto closed = tasks_of(text).front();
  const auto at_128 = tasks_of(open, Target("cutlass"), {{"seq", Dim(128)}}).front();
  EXPECT_EQ(at_128.workload.text(), closed.workload.form);
  EXPECT_EQ(at_128.workload.sizes, std::vector<std::int64_t>{128});
  EXPECT_EQ(at_128.program.source.text(), closed.program.source.text());
  const auto has_stream_k = [](const byoc::TuningTask& task) {
    const auto kernels = kernels_of(task);
    return std::any_of(kernels.begin(), kernels.end(),
                       [](const std::string& name) { return name.ends_with("_streamk"); });
  };
  EXPECT_TRUE(has_stream_k(closed));
  EXPECT_FALSE(has_stream_k(at_128));
  // They may share a model.
  std::string both = text;
  both.insert(text.find("%w:"), "%s: Tensor[(1, ?seq, 1024), float16], ");
  both.replace(both.find("add(%8, %x)"), 11,
               "(add(%8, %x), nn.gelu(add(%b, nn.matmul(%s, %w, units=None))))");
  const auto tasks = tasks_of(both, Target("cutlass"), {{"seq", Dim(128)}});
  EXPECT_EQ(tasks.size(), 3u);
}

TEST(CutlassTuning, AttributesOfTheTargetDoWhatTheySay) {
  EXPECT_TRUE(
      tasks_of(kFeedForward, Target("cutlass").with("find_first_valid", true)).front().first_valid);
  EXPECT_EQ(tasks_of(kFeedForward, Target("cutlass").with("profile_budget", std::int64_t{5}))
                .front()
                .seconds,
            5);
  const Target all_alignments = Target("cutlass").with("profile_all_alignments", true);
  const auto kernels = kernels_of(tasks_of(kFeedForward, all_alignments).front());
  for (const char* align : {"_s4_a8", "_s4_a4", "_s4_a2", "_s2_a1"}) {
    EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(), [&](const std::string& name) {
      return name.ends_with(align);
    })) << align;
  }
  const auto kept =
      tasks_of(kFeedForward, *parse_target("cutlass -tmp_dir='a b' -threads=3")).front();
  EXPECT_EQ(kept.candidates.front().kernel->kept_in, "a b");
  EXPECT_EQ(kept.candidates.front().kernel->at_once, 3);
  const auto usual = tasks_of(kFeedForward).front();
  EXPECT_EQ(usual.candidates.front().kernel->kept_in, "");
  EXPECT_EQ(usual.candidates.front().kernel->at_once, 0);
  // Bands that the target fixes are not varied.
  const auto banded = tasks_of(kFeedForward, Target("cutlass").with("swizzle", std::int64_t{4}));
  for (const auto& c : banded.front().candidates) {
    EXPECT_NE(c.configuration.find(" z4 "), std::string::npos) << c.configuration;
  }
}

TEST(CutlassTuning, SplitsAreMeasuredAndTaken) {
  constexpr const char* kFewTiles = R"(
def @main(%x: Tensor[(64, 16384), float16], %w: Tensor[(256, 16384), float16]) {
  nn.dense(%x, %w, units=None)
})";
  const auto task = tasks_of(kFewTiles, *parse_target("cutlass -split_k_slices=1,8")).front();
  std::vector<std::size_t> split;
  for (std::size_t i = 0; i < task.candidates.size(); ++i) {
    if (task.candidates[i].configuration.ends_with(" split8")) split.push_back(i);
  }
  ASSERT_FALSE(split.empty());
  EXPECT_EQ(task.candidates[split[0]].kernel, task.candidates[split[0] - 1].kernel);
  EXPECT_NE(task.table(split).source.text().find("_streamk, 1, -1, 0, 8, "), std::string::npos)
      << task.table(split).source.text();
  const OneMeasurement measured(task.candidates[split[0]].configuration);
  RecordingToolchain toolchain;
  compile(kFewTiles, toolchain, Target("cutlass"), &measured);
  const std::string& text = toolchain.sources.at("cutlass_regions");
  EXPECT_NE(text.find("  g.splits = 8;\n"), std::string::npos) << text;
  RecordingToolchain others;
  compile(kFewTiles, others, *parse_target("cutlass -split_k_slices=1,2"), &measured);
  EXPECT_EQ(others.sources.at("cutlass_regions").find("  g.splits = 8;\n"), std::string::npos);
}

}  // namespace
}  // namespace tessera::backends
