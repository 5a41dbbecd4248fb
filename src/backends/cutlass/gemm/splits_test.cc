// SPDX-License-Identifier: Apache-2.0
// Products with sums along K in parts, by kernels of the multistage schedule: conv_weights_test.cc
// has gradients by weights.
#include "backends/cutlass/gemm/splits.h"

#include <gtest/gtest.h>

#include "backends/cutlass/gemm/time_model.h"
#include "backends/cutlass/testing/integers.h"
#include "backends/cutlass/testing/tuning_tasks.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::expect_lines;
using cutlass::testing::OneMeasurement;
using cutlass::testing::RecordingToolchain;
using cutlass::testing::tasks_of;

constexpr const char* kSplitting = "cutlass -split_k_slices=1,4,16";

// Four tiles at most, and a long sum whose rows TMA cannot take.
std::string few_tiles(const std::string& rows = "64", const std::string& batch = "") {
  const std::string text =
      "def @main(%x: Tensor[(BROWS, 16382), float16], %w: Tensor[(B256, 16382), float16], %b: "
      "Tensor[(256), float16]) {\n  nn.relu(add(PRODUCT, %b))\n}";
  std::string out = rows == "?n" ? "#[symbol n = 1..128 : 64]\n" + text : text;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at; (at = out.find(from)) != std::string::npos;) {
      out.replace(at, from.size(), to);
    }
  };
  replace("PRODUCT", batch.empty() ? "nn.dense(%x, %w, units=None)"
                                   : "nn.batch_matmul(%x, %w, transpose_b=True)");
  replace("BROWS", batch + rows);
  replace("B256", batch + "256");
  return out;
}

std::vector<std::string> split_in(const byoc::TuningTask& task) {
  std::vector<std::string> split;
  for (const auto& candidate : task.candidates) {
    if (candidate.configuration.find(" split") != std::string::npos) {
      split.push_back(candidate.configuration);
    }
  }
  return split;
}

TEST(CutlassSplits, AProductWithFewTilesIsSplitWhereTheTargetSaysSo) {
  RecordingToolchain whole, toolchain;
  compile(few_tiles(), whole);
  EXPECT_EQ(whole.sources.at("cutlass_regions").find("g.splits"), std::string::npos);
  const auto outcome = compile(few_tiles(), toolchain, *parse_target(kSplitting));
  const std::string& text = toolchain.sources.at("cutlass_regions");
  const auto at = text.find("g.splits = ");
  ASSERT_NE(at, std::string::npos) << text;
  const int splits = std::atoi(text.c_str() + at + std::string("g.splits = ").size());
  EXPECT_TRUE(splits == 4 || splits == 16) << splits;
  // Sums of float32 in all parts of 64 x 256 results, more where tiles reach beyond.
  ASSERT_EQ(outcome.module.externs.size(), 1u);
  EXPECT_GE(outcome.module.externs.begin()->second.workspace.bytes, 4 * splits * 64 * 256 + 4);
}

TEST(CutlassSplits, TheNumbersThatTheTargetSaysAreMeasured) {
  EXPECT_TRUE(split_in(tasks_of(few_tiles()).front()).empty());
  const byoc::TuningTask task = tasks_of(few_tiles(), *parse_target(kSplitting)).front();
  const auto split = split_in(task);
  // Two numbers of parts of three for each kernel.
  EXPECT_EQ(3 * split.size(), 2 * task.candidates.size());
  for (const std::string& text : split) {
    EXPECT_TRUE(text.ends_with(" split4") || text.ends_with(" split16")) << text;
  }
}

// A product with more tiles than multiprocessors gains nothing by it.
TEST(CutlassSplits, ManyTilesStayWhole) {
  RecordingToolchain toolchain;
  compile(few_tiles("16384"), toolchain, *parse_target(kSplitting));
  EXPECT_EQ(toolchain.sources.at("cutlass_regions").find("g.splits"), std::string::npos);
}

// Without a number of tiles there is none of bytes; matrices of a batch are the grid's third
// dimension; a kernel joins sums of 32 bits.
TEST(CutlassSplits, WhatCannotBeSplitIsNot) {
  const Target half = *parse_target(std::string(kSplitting) + " -accumulator=float16");
  const Target usual = *parse_target(kSplitting);
  EXPECT_TRUE(split_in(tasks_of(few_tiles(), half).front()).empty());
  EXPECT_TRUE(split_in(tasks_of(few_tiles("64", "2, "), usual).front()).empty());
  const auto open = tasks_of(few_tiles("?n"), usual, {{"n", Dim(64)}});
  ASSERT_EQ(open.size(), 1u);
  EXPECT_TRUE(split_in(open.front()).empty());
}

// Records of the product with that size are the open one's, too.
TEST(CutlassSplits, AnOpenSizeTakesNoRecordOfParts) {
  const char* record = "sm80_64x64x64_w32x32_s5 z1 auto split4";
  const OneMeasurement measured(record);
  RecordingToolchain closed, open;
  compile(few_tiles(), closed, Target("cutlass"), &measured);
  expect_lines(closed.sources.at("cutlass_regions"), {"g.splits = 4;", "sm80_64x64x64_w32x32_s5"});
  const auto outcome = compile(few_tiles("?n"), open, Target("cutlass"), &measured);
  EXPECT_EQ(open.sources.at("cutlass_regions").find("g.splits"), std::string::npos);
  ASSERT_EQ(outcome.module.externs.size(), 1u);
  EXPECT_EQ(outcome.module.externs.begin()->second.workspace.bytes, 0);
}

TEST(CutlassSplits, SumsOfIntegersAreSplitToo) {
  RecordingToolchain toolchain;
  compile(
      "def @main(%x: Tensor[(64, 16380), int8], %w: Tensor[(256, 16380), int8]) {\n"
      "  nn.dense(%x, %w, units=None, out_dtype=\"int32\")\n}",
      toolchain, *parse_target("cutlass -split_k_slices=8"));
  expect_lines(toolchain.sources.at("cutlass_regions"), {"g.splits = 8;"});
}

}  // namespace
}  // namespace tessera::backends
