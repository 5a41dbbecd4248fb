// SPDX-License-Identifier: Apache-2.0
// What cuDNN itself says without a device, where it is installed.
#include <gtest/gtest.h>

#include "backends/cudnn/compiler/library.h"
#include "backends/cudnn/cudnn.h"

namespace tessera::backends::cudnn {
namespace {

Convolution convolution(DType dtype, std::int64_t channels, std::int64_t groups) {
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
  return c;
}

TEST(RealCudnn, MakesPlansWithoutADevice) {
  if (const auto why = library_missing()) GTEST_SKIP() << why->reason;
  const Target target("cudnn");
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
    for (const std::int64_t groups : {1, 4, 64}) {
      const Convolution c = convolution(dtype, 64, groups);
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
  if (const auto why = library_missing()) GTEST_SKIP() << why->reason;
  Convolution c = convolution(kFloat32, 64, 1);
  const auto exact = plan_of(c, Target("cudnn"));
  c.tf32 = true;
  const auto fast = plan_of(c, Target("cudnn"));
  ASSERT_TRUE(exact && fast);
  EXPECT_NE(exact->configuration, fast->configuration);
}

TEST(RealCudnn, SaysWhyNot) {
  if (const auto why = library_missing()) GTEST_SKIP() << why->reason;
  const Convolution c = convolution(kFloat16, 64, 1);
  const auto plan = plan_of(c, Target("cudnn"), "987654:");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().reason.find("no such engine: CUDNN_STATUS"), std::string::npos)
      << plan.error().reason;
}

}  // namespace
}  // namespace tessera::backends::cudnn
