// SPDX-License-Identifier: Apache-2.0
// Tasks, the search on a stand-in of library and device, and what is made of records.
#include "backends/cublas/tuning.h"

#include <gtest/gtest.h>

#include "backends/cublas/cublas.h"
#include "backends/cublas/region.h"
#include "backends/cublas/search.h"
#include "backends/cublas/testing/fake.h"
#include "backends/testing/compiled_module.h"
#include "backends/testing/graph_case.h"
#include "byoc/placer.h"

namespace tessera::backends::cublas {
namespace {

namespace graphs = ::tessera::backends::testing;

constexpr const char* kTwoLayers = R"(
def @main(%x: Tensor[(32, 64), float16], %c_w: Tensor[(64, 64), float16], %c_v: Tensor[(64, 64), float16],
          %c_b: Tensor[(64), float16]) {
  %0 = nn.relu(add(nn.dense(%x, %c_w, units=64), %c_b));
  %1 = nn.relu(add(nn.dense(%0, %c_v, units=64), %c_b));
  nn.matmul(%1, %c_v, units=None)
})";

Module partitioned(const std::string& text) {
  const byoc::BackendChoice choices[] = {{&cublas_backend(), Target("cublas")}};
  auto outcome = byoc::partition_greedy(graphs::parse_graph(text), choices);
  if (!outcome) throw std::runtime_error(render(outcome.error()));
  return std::move(outcome->module);
}

TEST(Tuning, EqualWorkIsOneTask) {
  const auto tasks = tuning_tasks(partitioned(kTwoLayers), Target("cublas"), {});
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].uses + tasks[1].uses, 3u);
  const auto& layer = tasks[0].uses == 2 ? tasks[0] : tasks[1];
  EXPECT_EQ(layer.workload.text(), "product m=32 n=64 batch=1 k=64 float16 float16 nt bias relu");
  EXPECT_EQ(layer.title, "32 x 64 x 64 float16: nn.dense, add, nn.relu");
  EXPECT_EQ(layer.version, "1, cublasLt 13.1.0");
  EXPECT_EQ(layer.device, "sm_90a 132 ");
  EXPECT_TRUE(layer.search);
}

TEST(Tuning, ScalesAndSumsOfFloat8AreOfTheWork) {
  const Module module = partitioned(R"(
def @main(%x: Tensor[(32, 64), uint8], %c_w: Tensor[(64, 64), uint8], %s: Tensor[(32, 1), float32]) {
  cast(qnn.dense_float8(%x, %c_w, %s, 0.5f, weight_format="e5m2"), dtype="float16")
})");
  const auto tasks = tuning_tasks(module, Target("cublas"), {});
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].workload.text(),
            "product m=32 n=64 batch=1 k=64 e4m3fn by e5m2 float16 nt fast_float8 scales=vectors");
  EXPECT_EQ(tasks[0].title, "32 x 64 x 64 e4m3fn by e5m2: qnn.dense_float8, cast");
}

TEST(Tuning, OpenSizesAreMeasuredAtTheLikelyOnes) {
  const Module module = partitioned(R"(
def @main(%x: Tensor[(?n, 8, 64), float16], %c_w: Tensor[(64, 64), float16]) {
  nn.dense(%x, %c_w, units=64)
})");
  const auto tasks = tuning_tasks(module, Target("cublas"), {{"n", Dim(4)}});
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].workload.form, "product m=? n=64 batch=1 k=64 float16 float16 nt");
  EXPECT_EQ(tasks[0].workload.sizes, std::vector<std::int64_t>{32});
  EXPECT_TRUE(tuning_tasks(module, Target("cublas"), {}).empty());
}

struct Told final : byoc::SearchReport {
  void found(std::size_t way, std::string_view configuration) override {
    names[way] = configuration;
  }
  void begins(std::size_t) override {}
  void wrong(std::size_t way, std::string_view why) override { faults[way] = why; }
  void timed(std::size_t way, double median_us, double) override { us[way] = median_us; }
  void done() override { is_done = true; }

  std::map<std::size_t, std::string> names, faults;
  std::map<std::size_t, double> us;
  bool is_done = false;
};

Spec product(Scalar factors, Scalar result) {
  Spec spec;
  spec.a_type = spec.b_type = factors;
  spec.result = result;
  spec.sums = factors == Scalar::kInt8 ? Sums::kInt32 : Sums::kFloat32;
  spec.b_transposed = 1;
  spec.m = 3;
  spec.n = 8;
  spec.k = 16;
  spec.batch = 2;
  spec.batch_rank = 1;
  spec.workspace_bytes = kWorkspaceBytes;
  return spec;
}

TEST(Search, ChecksAndTimesEachAlgorithm) {
  Spec scaled = product(Scalar::kFloat16, Scalar::kFloat16);
  scaled.bias = 2;
  scaled.residual = 3;
  scaled.activation = Activation::kGelu;
  scaled.alpha = 0.5f;
  scaled.a_transposed = 1;
  scaled.b_transposed = 0;
  scaled.b_repeats = 1;
  Spec float8 = product(Scalar::kFloat8E4M3, Scalar::kFloat16);
  float8.n = 16;
  float8.batch = 1;
  float8.b_type = Scalar::kFloat8E5M2;
  float8.sums = Sums::kFastFloat8;
  float8.scales = Scales::kNumbers;
  Spec of_rows = float8;
  of_rows.scales = Scales::kVectors;
  for (const Spec& spec : {scaled, product(Scalar::kInt8, Scalar::kInt32), float8, of_rows}) {
    Told told;
    search_algorithms({spec, "sm_90a"}, testing::fake_device(),
                      {.seconds = 20, .first_valid = false, .skipped = {}}, told);
    EXPECT_TRUE(told.is_done);
    ASSERT_EQ(told.names.size(), 3u);
    EXPECT_EQ(told.names[0].substr(0, told.names[0].rfind(' ')),
              "algorithm100_tile1_stages6_splits2 4096");
    EXPECT_DOUBLE_EQ(told.us[0], 20);
    EXPECT_DOUBLE_EQ(told.us[2], 10);
    EXPECT_TRUE(told.faults[1].starts_with("it computes wrong numbers")) << told.faults[1];
    const auto read = parse_configuration(told.names[2]);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->opaque[0], 102u);
    EXPECT_EQ(read->workspace_bytes, 4096);
  }
}

TEST(Search, WhatHasNoAlgorithmIsKnownToHaveNone) {
  const testing::Setting setting("FAKE_CUBLASLT_LACKS", "1");
  Told told;
  search_algorithms({product(Scalar::kFloat16, Scalar::kFloat16), "sm_90a"}, testing::fake_device(),
                    {}, told);
  EXPECT_TRUE(told.is_done);
  EXPECT_EQ(told.faults[0], "cublasLt has no algorithm: it is not supported");
}

// What is on record of any work.
struct Recorded final : byoc::Measurements {
  byoc::Ranking all;
  Result<byoc::Ranking> ranking(std::string_view, std::string_view, std::string_view,
                                const byoc::Workload&) const override {
    return all;
  }
};

byoc::CompileOutcome compiled(const std::string& text, const Recorded& records) {
  byoc::CompileContext context{graphs::test_toolchain(), 1, false, {}};
  context.measurements = &records;
  auto outcome = cublas_backend().compile(partitioned(text), Target("cublas"), context);
  if (!outcome) throw std::runtime_error(render(outcome.error()));
  return *std::move(outcome);
}

constexpr const char* kProduct = R"(
def @main(%x: Tensor[(32, 64), float16], %c_w: Tensor[(64, 64), float16]) {
  nn.dense(%x, %c_w, units=64)
})";
const std::string kDigits = "0000000000000066" + std::string(112, '0');

TEST(Records, TheFastestAlgorithmStandsInThePayload) {
  Recorded records;
  records.all.configurations = {"unreadable", "algorithm102 4096 " + kDigits, "algorithm100 0 x"};
  const auto outcome = compiled(kProduct, records);
  ASSERT_EQ(outcome.module.artifacts.size(), 1u);
  const std::string& payload = outcome.module.artifacts[0].payload;
  EXPECT_NE(payload.find(" workspace_bytes=4096 version=130100 "), std::string::npos) << payload;
  EXPECT_NE(payload.find(" algorithm=" + kDigits), std::string::npos) << payload;
  const auto& made = outcome.module.externs.begin()->second;
  EXPECT_EQ(made.workspace.bytes, 4096 + 256);
}

TEST(Records, WhatFailedAltogetherIsDeclined) {
  Recorded records;
  records.all.failures = {{"none", "cublasLt has no algorithm: it is not supported"}};
  const auto outcome = compiled(kProduct, records);
  ASSERT_EQ(outcome.declined.size(), 1u);
  EXPECT_NE(outcome.declined[0].why.message.find("cublasLt has no algorithm"), std::string::npos);
}

TEST(Records, AnOpenSizeKeepsWhereItWasMeasured) {
  Recorded records;
  records.all.configurations = {"algorithm102 4096 " + kDigits};
  records.all.sizes = {24};
  Module module = partitioned(R"(
def @main(%x: Tensor[(?n, 64), float16], %c_w: Tensor[(64, 64), float16]) {
  nn.dense(%x, %c_w, units=64)
})");
  byoc::CompileContext context{graphs::test_toolchain(), 1, false, {}};
  context.measurements = &records;
  for (auto& [symbol, f] : module.functions) {
    const auto described = describe_region(f, module.constants, Target("cublas"));
    if (!described) continue;
    const auto spec = choose(*described, Target("cublas"), context, {{"n", Dim(32)}});
    ASSERT_TRUE(spec && *spec);
    EXPECT_EQ((*spec)->m, -1);
    EXPECT_EQ((*spec)->best_m, 24);
    EXPECT_EQ((*spec)->workspace_bytes, kWorkspaceBytes);
    return;
  }
  FAIL() << "no region";
}

}  // namespace
}  // namespace tessera::backends::cublas
