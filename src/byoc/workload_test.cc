// SPDX-License-Identifier: Apache-2.0
#include "byoc/workload.h"

#include <gtest/gtest.h>

namespace tessera::byoc {
namespace {

using Sizes = std::vector<std::int64_t>;

TEST(Workload, OpenSizesAreNumbersInItsText) {
  const Workload open = {"gemm m=? n=16 batch=? { return x > 0 ? x : 0; }", {384, 8}};
  EXPECT_EQ(open.text(), "gemm m=384 n=16 batch=8 { return x > 0 ? x : 0; }");
  EXPECT_EQ(open.sizes_in(open.text()), Sizes({384, 8}));
  EXPECT_EQ(open.sizes_in("gemm m=7 n=16 batch=1 { return x > 0 ? x : 0; }"), Sizes({7, 1}));
  for (const char* other :
       {"gemm m=384 n=17 batch=8 { return x > 0 ? x : 0; }",
        "gemm m=384 n=16 batch=8 { return x; }", "gemm m=? n=16 batch=8 { return x > 0 ? x : 0; }",
        "gemm m=384", "gemm", ""}) {
    EXPECT_EQ(open.sizes_in(other), std::nullopt) << other;
  }
}

TEST(Workload, WithoutOpenSizesThereIsOneText) {
  const Workload closed = {"gemm m=1 { return x > 0 ? x : 0; }"};
  EXPECT_EQ(closed.text(), closed.form);
  EXPECT_EQ(closed.sizes_in(closed.form), Sizes());
  EXPECT_EQ(closed.sizes_in("gemm m=2 { return x > 0 ? x : 0; }"), std::nullopt);
}

TEST(Workload, ADeviceIsOneOfItsModelWhereThatIsNamed) {
  const char* device = "sm_90a 132 NVIDIA H200";
  EXPECT_TRUE(is_of_device(device, "sm_90a 132 "));
  EXPECT_TRUE(is_of_device(device, device));
  EXPECT_FALSE(is_of_device("sm_90a 132 NVIDIA H200 NVL", device));
  EXPECT_FALSE(is_of_device(device, "sm_90a 114 "));
  EXPECT_FALSE(is_of_device(device, "sm_90a 1"));
}

}  // namespace
}  // namespace tessera::byoc
