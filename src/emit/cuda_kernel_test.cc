// SPDX-License-Identifier: Apache-2.0
// The CUDA text of kernels: goldens, which nvcc compiles without a warning where there is one. That
// they compute what the loop IR says is tested on a device by tests/conformance.
#include "emit/cuda_kernel.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tir/parse.h"
#include "tir/verify.h"

namespace tessera::emit {
namespace {

const std::string kFolder = std::string(TESSERA_SOURCE_DIR) + "/src/emit/testdata/";

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct CudaKernelTest : testing::TestWithParam<const char*> {
  std::string golden() const { return kFolder + GetParam() + ".golden.cu"; }
};

TEST_P(CudaKernelTest, TextIsTheGolden) {
  const std::string name = std::string(GetParam()) + ".tir";
  const auto file = std::make_shared<SourceFile>(SourceFile{name, read_file(kFolder + name)});
  auto parsed = tir::parse_prim_func(file, 0);
  ASSERT_TRUE(parsed) << render(parsed.error());
  parsed->func.sources.clear();
  const auto legal = tir::verify(parsed->func, parsed->name);
  ASSERT_TRUE(legal) << render(legal.error());
  const std::string text = cuda_prologue() + "\n" + emit_cuda_kernel(parsed->func, parsed->name);
  if (getenv("TESSERA_UPDATE_GOLDENS") != nullptr) std::ofstream(golden()) << text;
  EXPECT_EQ(text, read_file(golden())) << "TESSERA_UPDATE_GOLDENS=1 writes it anew";
}

TEST_P(CudaKernelTest, Compiles) {
  const std::string nvcc = "PATH=$PATH:/usr/local/cuda/bin nvcc";
  if (std::system((nvcc + " --version > /dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "there is no nvcc";
  }
  const std::string command = nvcc +
                              " -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Werror "
                              "all-warnings -cubin -o /dev/null -I" TESSERA_SOURCE_DIR "/include " +
                              golden();
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(golden());
}

INSTANTIATE_TEST_SUITE_P(Goldens, CudaKernelTest, testing::Values("cuda_softmax", "cuda_mixed"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::emit
