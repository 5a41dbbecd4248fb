// SPDX-License-Identifier: Apache-2.0
#include "types/gpu_arch.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(GpuArch, PtxOfOneArchitectureOrFamilyIsNotForLaterOnes) {
  EXPECT_TRUE(has_ptx_for_later("sm_80"));
  EXPECT_TRUE(has_ptx_for_later("sm_120"));
  EXPECT_FALSE(has_ptx_for_later("sm_90a"));
  EXPECT_FALSE(has_ptx_for_later("sm_103f"));
}

TEST(GpuArch, HasANumber) {
  EXPECT_EQ(gpu_arch_number("sm_90a"), "90");
  EXPECT_EQ(gpu_arch_number("sm_120"), "120");
  EXPECT_EQ(gpu_arch_number("auto"), "");
}

// As nvcc's documentation spells it.
TEST(GpuArch, NvccIsToldOfMachineCodeAndOfPtx) {
  EXPECT_EQ(gencode_flag("sm_90a", false), "-gencode=arch=compute_90a,code=sm_90a");
  EXPECT_EQ(gencode_flag("sm_86", true), "-gencode=arch=compute_86,code=[sm_86,compute_86]");
}

TEST(GpuArch, HasAUsualNumberOfMultiprocessors) {
  EXPECT_EQ(usual_multiprocessors("sm_80"), 108);
  EXPECT_EQ(usual_multiprocessors("sm_89"), 142);
  EXPECT_EQ(usual_multiprocessors("sm_90a"), 132);
}

}  // namespace
}  // namespace tessera
