// SPDX-License-Identifier: Apache-2.0
// What cuDNN itself says without a device, where it is installed.
#include <memory>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "backends/cudnn/compiler/convolution.h"
#include "backends/cudnn/compiler/describe.h"
#include "backends/cudnn/compiler/library.h"
#include "backends/cudnn/cudnn.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cudnn {
namespace {

Region convolution(DType dtype, std::int64_t channels, std::int64_t groups) {
  Convolution c;
  c.dtype = dtype;
  const auto view = [](std::int64_t n, std::int64_t k, std::int64_t h, std::int64_t w) {
    return View{{n, k, h, w}, {k * h * w, 1, w * k, k}};
  };
  c.operands = {{{}, dtype, view(8, channels, 14, 14)},
                {{}, dtype, view(channels, channels / groups, 3, 3)},
                {{}, dtype, view(1, channels, 1, 1)}};
  c.window = {{3, 1, 1, 1, 1}, {3, 1, 1, 1, 1}};
  c.steps = {{"add", 2}, {"relu"}};
  c.result = view(8, channels, 14, 14);
  return region_of(c);
}

// Nothing if plans can be made here; else why not.
std::optional<relay::Refusal> lacking() {
  if (auto why = library_missing()) return why;
  const auto plan = plan_of(convolution(kFloat16, 64, 1), Target("cudnn"));
  const bool wants_driver =
      !plan && plan.error().reason.find("this version may need the driver") != std::string::npos;
  return wants_driver ? std::optional(plan.error()) : std::nullopt;
}

TEST(RealCudnn, MakesPlansWithoutADevice) {
  if (const auto why = lacking()) GTEST_SKIP() << why->reason;
  const Target target("cudnn");
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
    for (const std::int64_t groups : {1, 4, 64}) {
      const Region c = convolution(dtype, 64, groups);
      const auto plan = plan_of(c, target);
      ASSERT_TRUE(plan) << to_string(dtype) << ": " << plan.error().reason;
      EXPECT_EQ(plan->version, library_version());
      EXPECT_TRUE(plan->text.starts_with("{")) << plan->text;
      // Records have its configuration, of which the same plan is made.
      const auto again = plan_of(c, target, plan->configuration);
      ASSERT_TRUE(again) << plan->configuration << ": " << again.error().reason;
      EXPECT_EQ(again->text, plan->text);
    }
  }
}

// tf32 has the digits of float16.
TEST(RealCudnn, TakesTensorCoresForFloat32OnlyWhereItMay) {
  if (const auto why = lacking()) GTEST_SKIP() << why->reason;
  Region c = convolution(kFloat32, 64, 1);
  const auto exact = plan_of(c, Target("cudnn"));
  c.tf32 = true;
  const auto fast = plan_of(c, Target("cudnn"));
  ASSERT_TRUE(exact && fast);
  EXPECT_NE(exact->configuration, fast->configuration);
}

TEST(RealCudnn, SaysWhyNot) {
  if (const auto why = lacking()) GTEST_SKIP() << why->reason;
  const Region c = convolution(kFloat16, 64, 1);
  const auto plan = plan_of(c, Target("cudnn"), "987654:");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().reason.find("no such engine: CUDNN_STATUS"), std::string::npos)
      << plan.error().reason;
}

// ---- Engines whose code cuDNN compiles, for which it wants the driver

bool has_driver() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NODELETE) != nullptr; }

// The region of a graph of one composite.
Expected<Region, relay::Refusal> region_of_graph(const std::string& text, const Target& target) {
  const auto file =
      std::make_shared<SourceFile>(SourceFile{"test", "#[version = \"0.0.5\"]" + text});
  const Module module = *ops::infer_types(*parse_module(file, ops::operators()));
  const relay::Function& f = module.functions.at("main");
  for (const relay::CompositePattern& row : composites()) {
    const auto match = relay::match(f, row.pattern, f.result(), &module.constants);
    if (match) return describe(*match, target);
  }
  return relay::refuse("no pattern matches");
}

constexpr const char* kAttention = R"(
def @main(%q: Tensor[(8, 12, 128, 64), TYPE], %k: Tensor[(8, 12, 128, 64), TYPE],
          %v: Tensor[(8, 12, 128, 64), TYPE], %m: Tensor[(8, 1, 1, 128), TYPE]) {
  %0 = nn.matmul(%q, transpose(%k, axes=[0, 1, 3, 2]), units=None);
  %1 = nn.matmul(nn.softmax(add(%0, %m), axis=3), %v, units=None);
  reshape(transpose(%1, axes=[0, 2, 1, 3]), newshape=[8, 128, 768])
})";
constexpr const char* kLayerNorm = R"(
def @main(%x: Tensor[(8, 128, 768), TYPE], %g: Tensor[(768), TYPE], %b: Tensor[(768), TYPE]) {
  nn.layer_norm(%x, %g, %b)
})";
constexpr const char* kRmsNorm = R"(
def @main(%x: Tensor[(3, 77), TYPE], %g: Tensor[(77), TYPE]) {
  nn.rms_norm(%x, %g)
})";

std::string of_type(std::string text, DType dtype) {
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) {
    text.replace(at, 4, to_string(dtype));
  }
  return text;
}

TEST(RealCudnn, MakesPlansOfAttentionAndNorms) {
  if (const auto why = library_missing()) GTEST_SKIP() << why->reason;
  const Target target = Target("cudnn").with("runtime_engines", true).with("tf32", true);
  for (const char* graph : {kAttention, kLayerNorm, kRmsNorm}) {
    for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
      const auto region = region_of_graph(of_type(graph, dtype), target);
      ASSERT_TRUE(region) << region.error().reason;
      const auto plan = plan_of(*region, target);
      if (!has_driver()) {
        ASSERT_FALSE(plan);
        EXPECT_NE(plan.error().reason.find("the driver's libcuda.so.1, which this machine has not"),
                  std::string::npos)
            << plan.error().reason;
        continue;
      }
      ASSERT_TRUE(plan) << region->workload << ": " << plan.error().reason;
      const auto again = plan_of(*region, target, plan->configuration);
      ASSERT_TRUE(again) << plan->configuration << ": " << again.error().reason;
      EXPECT_EQ(again->configuration, plan->configuration);
      // Those of attention hold addresses of the process that made them.
      if (graph != kAttention) {
        EXPECT_EQ(again->text, plan->text);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::backends::cudnn
