// SPDX-License-Identifier: Apache-2.0
// The CUDA text of kernels: goldens, which nvcc compiles without a warning where there is one. That
// they compute what the loop IR says is tested on a device by tests/conformance.
#include "emit/cuda_kernel.h"

#include <gtest/gtest.h>

#include "emit/testing/testdata.h"
#include "support/testing/golden.h"
#include "tir/verify.h"

namespace tessera::emit {
namespace {

struct CudaKernelTest : ::testing::TestWithParam<const char*> {
  std::string golden() const { return std::string(GetParam()) + ".golden.cu"; }
};

TEST_P(CudaKernelTest, TextIsTheGolden) {
  const auto parsed = parse_testdata(std::string(GetParam()) + ".tir");
  const auto legal = tir::verify(parsed.func, parsed.name);
  ASSERT_TRUE(legal) << render(legal.error());
  const std::string text = cuda_prologue() + "\n" + emit_cuda_kernel(parsed.func, parsed.name);
  tessera::testing::expect_golden(testdata_path(golden()), text);
}

TEST_P(CudaKernelTest, Compiles) {
  const std::string nvcc = "PATH=$PATH:/usr/local/cuda/bin nvcc";
  if (std::system((nvcc + " --version > /dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "there is no nvcc";
  }
  const std::string command = nvcc +
                              " -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Werror "
                              "all-warnings -cubin -o /dev/null -I" TESSERA_SOURCE_DIR "/include " +
                              testdata_path(golden());
  EXPECT_EQ(std::system(command.c_str()), 0) << read_testdata(golden());
}

INSTANTIATE_TEST_SUITE_P(Goldens, CudaKernelTest, ::testing::Values("cuda_softmax", "cuda_mixed"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::emit
