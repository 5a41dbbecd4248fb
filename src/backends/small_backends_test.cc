// SPDX-License-Identifier: Apache-2.0
// blas, ccompiler and example_target_hook on small graphs, alone and in a list of priorities with
// onednn.
#include "backends/blas/blas.h"
#include "backends/ccompiler/ccompiler.h"
#include "backends/example_target_hook/example_target_hook.h"
#include "backends/onednn/onednn.h"
#include "backends/testing/graph_case.h"
#include "support/testing/requirement.h"

namespace tessera::backends {
namespace {

using Names = std::vector<std::string>;

TEST(Blas, TakesProductsWithAFactor) {
  const Module module = testing::parse_graph(R"(
def @main(%x: Tensor[(4, 8, 16), float64], %c_w: Tensor[(16, 24), float64], %y: Tensor[(4, 24, 8), float64]) {
  %0 = nn.matmul(%x, %c_w, units=None);
  %1 = multiply(%0, 0.25f64);
  nn.batch_matmul(%y, %1, transpose_a=True, transpose_b=True)
})");
  const byoc::BackendChoice choices[] = {{&blas_backend(), Target("blas")}};
  const auto outcome = testing::compile_graph(module, choices);
  EXPECT_EQ(testing::composites_of(outcome), (Names{"matmul_scale", "batch_matmul"}));
  testing::expect_same_results(outcome.module, module, 1e-13);
}

TEST(Ccompiler, MakesOneStaticLibrary) {
  const Module module = testing::parse_graph(R"(
def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(4, 8), float32], %c_z: Tensor[(4, 8), float32]) {
  %0 = subtract(%y, %x);
  %1 = multiply(%0, %0);
  %2 = add(%c_z, %1);
  nn.relu(%2)
})");
  const byoc::BackendChoice choices[] = {{&ccompiler_backend(), Target("ccompiler")}};
  const auto outcome = testing::compile_graph(module, choices);
  EXPECT_EQ(testing::composites_of(outcome), (Names{"subtract", "multiply", "add", "relu"}));
  EXPECT_EQ(outcome.module.artifacts.size(), 1u);
  testing::expect_same_results(outcome.module, module, 0);
}

TEST(ExampleTargetHook, GivesLoopsThatKnowItsTarget) {
  const Module module = testing::parse_graph(R"(
def @main(%x: Tensor[(4, 1, 8), float32], %y: Tensor[(3, 1), float32], %k: Tensor[(2, 8), int32]) {
  %0 = add(%x, %y);
  %1 = nn.relu(%0);
  %2 = concatenate((%1, %0, %1), axis=-2);
  (%2, add(%k, %k), %k)
})");
  const Target target = Target("example_target_hook").with("example_attribute", std::int64_t{7});
  const byoc::BackendChoice choices[] = {{&example_target_hook_backend(), target}};
  const auto outcome = testing::compile_graph(module, choices);
  EXPECT_EQ(testing::composites_of(outcome), (Names{"add", "relu", "concatenate", "add"}));
  EXPECT_TRUE(outcome.module.artifacts.empty());
  ASSERT_EQ(outcome.module.prim_funcs.size(), 4u);
  for (const auto& [symbol, loops] : outcome.module.prim_funcs) {
    EXPECT_EQ(loops.attrs.at("target"), "example_target_hook") << symbol;
    EXPECT_EQ(loops.attrs.at("example_attribute"), "7") << symbol;
    EXPECT_EQ(outcome.module.externs.at(symbol).convention, CallingConvention::kGenerated);
  }
  testing::expect_same_results(outcome.module, module, 0);
}

TEST(Priorities, TheNextBackEndTakesWhatIsRefusedAndSaysWhy) {
  const Module module = testing::parse_graph(R"(
def @main(%x: Tensor[(4, 16), float64], %y: Tensor[(4, 16), float32], %c_w: Tensor[(16, 16), float64], %c_v: Tensor[(16, 16), float32]) {
  %0 = nn.dense(%x, %c_w, units=16);
  %1 = nn.dense(%y, %c_v, units=16);
  (%0, %1)
})");
  if (!::tessera::testing::is_there("onednn", !onednn_backend().available(Target("onednn")))) {
    GTEST_SKIP() << "onednn is not there";
  }
  const byoc::BackendChoice choices[] = {{&onednn_backend(), Target("onednn")},
                                         {&blas_backend(), Target("blas")}};
  const auto outcome = testing::compile_graph(module, choices);
  ASSERT_EQ(outcome.regions.size(), 2u);
  EXPECT_EQ(outcome.regions[0].backend, "blas");
  EXPECT_EQ(outcome.regions[1].backend, "onednn");
  ASSERT_EQ(outcome.refusals.size(), 1u);
  EXPECT_EQ(outcome.refusals[0].reason, "data type float64 is no float of 32 or 16 bits");
  EXPECT_EQ(outcome.refusals[0].taken_by, "blas");
  testing::expect_same_results(outcome.module, module);
}

}  // namespace
}  // namespace tessera::backends
