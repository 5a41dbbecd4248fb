// SPDX-License-Identifier: Apache-2.0
// Products in which the matrices of a batch share something: a factor, or what follows them.
// Strides say so; broadcast_values_test.cc checks what they say.
#include <gtest/gtest.h>

#include "backends/cutlass/gemm/gemm.h"
#include "backends/cutlass/measuring/measure_source.h"
#include "backends/cutlass/testing/broadcasts.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "byoc/compiler_functions.h"
#include "link/toolchain.h"

namespace tessera::backends {
namespace {

using cutlass::Gemm;
using cutlass::testing::add;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::kBatch;
using cutlass::testing::kPointwise;
using cutlass::testing::kShared;
using cutlass::testing::kWindow;
using cutlass::testing::Lines;
using cutlass::testing::model;
using cutlass::testing::parse;
using cutlass::testing::placed;
using cutlass::testing::products;
using cutlass::testing::RecordingToolchain;
using cutlass::testing::replaced;
using relay::Function;

Gemm gemm_of(const std::string& product, const Target& target = Target("cutlass")) {
  const Module module = placed(parse(model({product})), target).module;
  const auto symbols = byoc::compiler_functions(module, "cutlass");
  EXPECT_EQ(symbols.size(), 1u) << product;
  auto gemm = cutlass::describe_gemm(module.functions.at(symbols.at(0)), module.constants, target);
  EXPECT_TRUE(gemm) << product;
  return *std::move(gemm);
}

// Operators that the back end leaves, and why it does.
struct Left {
  std::ptrdiff_t operators = 0;
  std::string reason;
};
Left left(const std::string& product, const std::string& dtype = "float32") {
  RecordingToolchain toolchain;
  const auto outcome = compile(model({product}, dtype), toolchain);
  const Function& f = outcome.module.functions.at("main");
  Left left;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    left.operators += f.op(relay::NodeId(i)) != nullptr;
  }
  if (!outcome.refusals.empty()) left.reason = outcome.refusals.front().reason;
  return left;
}

TEST(CutlassBroadcasts, EachIsOneRegion) {
  for (const std::string& product : products()) EXPECT_EQ(left(product).operators, 0) << product;
}

// ---- How they are taken

TEST(CutlassBroadcasts, RowsAreAsManyAsCanBe) {
  const auto sizes = [](const std::string& product) {
    const Gemm g = gemm_of(product);
    return fmt::format("{} of {} rows{}{}", to_string(g.batch), to_string(g.m),
                       g.a_repeats ? ", one A" : "", g.b_repeats ? ", one B" : "");
  };
  EXPECT_EQ(sizes(kBatch), "3 of 40 rows");
  EXPECT_EQ(sizes(kShared), "1 of 120 rows");
  EXPECT_EQ(sizes("nn.batch_matmul(%a, %u1, transpose_b=True)"), "1 of 120 rows");
  EXPECT_EQ(sizes("nn.batch_matmul(%a1, %u, transpose_b=True)"), "3 of 40 rows, one A");
  EXPECT_EQ(sizes("nn.batch_matmul(%t, %v1, transpose_a=True)"), "3 of 40 rows, one B");
  EXPECT_EQ(sizes("nn.matmul(%h, %hb, units=None)"), "2 of 120 rows");
  EXPECT_EQ(sizes("nn.matmul(%h, %v1, units=None)"), "1 of 240 rows");
  EXPECT_EQ(sizes("nn.matmul(%h1, %hv, units=None)"), "6 of 40 rows, one A");
  EXPECT_EQ(sizes(kPointwise), "1 of 84 rows");
  // No more than what follows them allows.
  EXPECT_EQ(sizes(add(kShared, "%n")), "1 of 120 rows");
  EXPECT_EQ(sizes(add(kShared, "%bm")), "1 of 120 rows");
  EXPECT_EQ(sizes(add(kShared, "%m")), "3 of 40 rows, one B");
  EXPECT_EQ(sizes(add(kShared, "%mn")), "3 of 40 rows, one B");
  EXPECT_EQ(sizes(add("nn.matmul(%h, %v1, units=None)", "%hn")), "2 of 120 rows, one B");
  EXPECT_EQ(sizes(add("nn.matmul(%h, %v1, units=None)", "%hmn")), "6 of 40 rows, one B");
  EXPECT_EQ(sizes(fmt::format("multiply(%gate, {})", kPointwise)), "2 of 42 rows, one B");
}

// How many matrices there are is read off the result.
TEST(CutlassBroadcasts, BatchesMayBeOpen) {
  RecordingToolchain toolchain;
  compile(R"(
def @main(%x: Tensor[(1, 40, 16), float16], %y: Tensor[(?b, 24, 16), float16],
          %z: Tensor[(?b, 40, 16), float16], %w: Tensor[(24, 16), float16],
          %r: Tensor[(40, 24), float16]) {
  %0 = nn.batch_matmul(%x, %y, transpose_b=True);
  %1 = nn.dense(%z, %w, units=None);
  (%0, add(%1, %r), nn.relu(nn.dense(%z, %w, units=None)))
})",
          toolchain);
  const std::string& regions = toolchain.sources.at("cutlass_regions");
  for (const char* lines :
       {"m = 40, n = 24, k = 16, batch = size(tensors[2], 0, 1);\n  GemmArguments g = {};\n"
        "  g.m = m, g.n = n, g.k = k, g.batch = batch;\n  g.a = {data(tensors[0]), k, 0};",
        "m = 40, n = 24, k = 16, batch = size(tensors[3], 0, 1);",
        "g.b = {data(tensors[1]), k, 0};\n  g.d = {data(tensors[3]), n, m * n};\n"
        "  g.inputs[0] = {data(tensors[2]), n, 0};",
        "m = size(tensors[2], 0, 2), n = 24, k = 16, batch = 1;"}) {
    EXPECT_NE(regions.find(lines), std::string::npos) << lines << "\n" << regions;
  }
}

// TMA is told by a type, other kernels by a stride alone; work that is shared is other work.
TEST(CutlassBroadcasts, KernelsKnowWhatRepeats) {
  const std::string text =
      model({add("nn.batch_matmul(%a1, %u, transpose_b=True)", "%mn")}, "float16");
  RecordingToolchain later, older;
  compile(text, later);
  compile(text, older, *parse_target("cutlass -arch=sm_80"));
  const std::string &tma = later.sources.rbegin()->second, &other = older.sources.rbegin()->second;
  for (const char* line :
       {"using LayoutA = RepeatedA<::cutlass::layout::RowMajor>;",
        "using LayoutB = ::cutlass::layout::ColumnMajor;", "InputList<Repeated<::cutlass::half_t>>",
        "a=float16:row:8:repeated b=float16:column:8 "}) {
    EXPECT_NE(tma.find(line), std::string::npos) << line << tma;
  }
  EXPECT_NE(other.find("using LayoutA = ::cutlass::layout::RowMajor;"), std::string::npos) << other;
  const std::string& regions = older.sources.at("cutlass_regions");
  for (const char* line : {"g.a = {data(tensors[0]), k, 0};", "g.b = {data(tensors[1]), k, n * k};",
                           "g.inputs[0] = {data(tensors[2]), n, 0};"}) {
    EXPECT_NE(regions.find(line), std::string::npos) << line << regions;
  }
}

TEST(CutlassBroadcasts, ProgramsThatMeasureRepeatTheSame) {
  const Gemm gemm = gemm_of(add("nn.batch_matmul(%a1, %u, transpose_b=True)", "%mn"));
  const std::string table = measure_table(gemm, {}).text();
  for (const char* line :
       {"40, 24, 16, 3,  // m, n, k, batch", "{0, 16, 0}, {0, 16, 384}, {0, 24, 960},  // A, B, D",
        "{{0, 24, 0}},"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << table;
  }
  EXPECT_NE(measure_source(gemm).text().find("InputList<Repeated<float>>"), std::string::npos);
}

// A view moves no data: the region reads the vector that it is a view of.
TEST(CutlassBroadcasts, OperandsMayBeViews) {
  for (const char* view : {"reshape(%n, newshape=[1, 1, 24])", "expand_dims(%n, axis=0)"}) {
    const Left what = left(fmt::format("nn.relu({})", add(kShared, view)));
    EXPECT_EQ(what.operators, 1) << view;
    EXPECT_EQ(what.reason, "") << view;
  }
}

// ---- What is not

TEST(CutlassBroadcasts, WhatHasNoStrideIsRefused) {
  const Left factors = left("nn.matmul(%h, %hr, units=None)");
  EXPECT_EQ(factors.operators, 1);
  EXPECT_EQ(factors.reason,
            "batches of (2, 3) and (1, 3) matrices are broadcast against each other");
  const Left images = left(fmt::format("multiply(%gate, {})", kWindow));
  EXPECT_EQ(images.operators, 1);
  EXPECT_EQ(images.reason,
            "an operand of shape (2, 1, 1, 24) repeats along some of the dimensions (2, 6, 7), "
            "which are one to the kernel");
  const Left rows = left(add("nn.matmul(%h, %hb, units=None)", "%hmn"));
  EXPECT_EQ(rows.operators, 1);
  EXPECT_EQ(rows.reason,
            "an operand of shape (2, 3, 1, 24) repeats along some of the dimensions (3, 40), which "
            "are one to the kernel");
  const Left heads = left(add("nn.matmul(%h, %hv, units=None)", "%hn"));
  EXPECT_EQ(heads.operators, 1);
  EXPECT_EQ(heads.reason,
            "an operand of shape (2, 1, 1, 24) repeats along some of the dimensions (2, 3), which "
            "are one to the kernel");
}

TEST(CutlassBroadcasts, MatricesOfABatchHaveALimit) {
  const auto reason = [](const std::string& dtype, int batch) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        replaced(fmt::format("def @main(%x: Tensor[({0}, 8, 16), T], %y: Tensor[({0}, 8, 16), T]) "
                             "{{ nn.batch_matmul(%x, %y, transpose_b=True) }}",
                             batch),
                 "T]", dtype + "]"),
        toolchain);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(reason("float32", 65535), "");
  EXPECT_EQ(reason("float32", 65536),
            "a batch of 65536 has more than the 65535 matrices of a grid");
  EXPECT_EQ(reason("float16", 65536), "");  // its kernels go through tiles of all matrices
}

// Many tiles that are half empty take longer than another kernel; full ones and a few do not.
TEST(CutlassBroadcasts, TilesAreNotEmptierThanItIsWorth) {
  const auto reason = [](int batch, int rows, int k) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        fmt::format("def @main(%x: Tensor[({0}, {1}, {2}), float16], %w: Tensor[(4096, {2}), "
                    "float16], %f: Tensor[({0}, 1, 4096), float16]) {{ "
                    "multiply(nn.dense(%x, %w, units=None), %f) }}",
                    batch, rows, k),
        toolchain);
    EXPECT_EQ(composites_of(outcome).size(), 1u);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(
      reason(512, 33, 4096),
      "it needs a batch of 512 matrices of 33 rows, whose tiles are emptier than it is worth");
  EXPECT_EQ(reason(512, 33, 64), "");  // what is moved counts more than what is multiplied
  EXPECT_EQ(reason(512, 128, 4096), "");
  EXPECT_EQ(reason(2, 3, 64), "");
}

// ---- With nvcc

// A factor that matrices share, A and B; all kinds of operands that they share and have for
// themselves.
TEST(SlowKernels, OfBroadcastsCompile) {
  if (!cutlass::testing::can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const std::string one_a =
      add(add(add("nn.batch_matmul(%a1, %u, transpose_b=True)", "%mn"), "%bn"), "%bmn");
  const std::string one_b = add(add("nn.batch_matmul(%t, %v1, transpose_a=True)", "%b"), "%bm");
  for (const auto& [target, results] : {std::pair("cutlass", Lines{one_a, one_b}),
                                        std::pair("cutlass -arch=sm_80", Lines{one_a})}) {
    const auto outcome = compile(model(results, "float16"), *toolchain, *parse_target(target));
    for (const auto& refusal : outcome.refusals) ADD_FAILURE() << refusal.reason;
    EXPECT_EQ(outcome.module.externs.size(), results.size()) << target;
  }
}

}  // namespace
}  // namespace tessera::backends
