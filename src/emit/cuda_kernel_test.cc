// SPDX-License-Identifier: Apache-2.0
// The CUDA text of kernels: goldens, which nvcc compiles, their launchers too, without a warning
// where there is one. That they compute what the loop IR says is tested on a device by
// tests/conformance.
#include "emit/cuda_kernel.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/testing/testdata.h"
#include "support/files.h"
#include "support/testing/golden.h"
#include "support/testing/requirement.h"
#include "tir/intrinsics.h"
#include "tir/verify.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

// Schedules for the device are goldens of their own.
constexpr const char* kSchedules = "../../schedule/testdata/";

constexpr const char* kGoldens[] = {"cuda_softmax",
                                    "cuda_add_rms_norm",
                                    "cuda_mixed",
                                    "cuda_quantize",
                                    "cuda_two_sizes",
                                    "cuda_check_indices",
                                    "cuda_in_place",
                                    "device_layer_norm",
                                    "device_max_pool",
                                    "device_take",
                                    "device_concatenate_scale_relu",
                                    "device_rotate_half",
                                    "device_concatenate_of_taken",
                                    "device_dense_bias_gelu",
                                    "device_conv2d_of_padded",
                                    "device_transpose_in_vectors",
                                    "device_depthwise_bias_relu",
                                    "device_grouped_conv2d",
                                    "device_global_mean",
                                    "device_few_rows",
                                    "device_few_rows_bias_gelu",
                                    "device_few_rows_open",
                                    "device_few_rows_plain",
                                    "device_winograd",
                                    "device_winograd_channels_last",
                                    "device_window_product",
                                    "device_window_product_strided"};

struct CudaKernelTest : ::testing::TestWithParam<const char*> {
  std::string golden() const { return std::string(GetParam()) + ".golden.cu"; }
  std::string tir() const {
    const std::string file = std::string(GetParam()) + ".tir";
    return file.starts_with("device_") ? kSchedules + file : file;
  }
};

TEST_P(CudaKernelTest, TextIsTheGolden) {
  const auto parsed = parse_testdata(tir());
  const auto legal = tir::verify(parsed.func, parsed.name);
  ASSERT_TRUE(legal) << render(legal.error());
  const std::string text =
      (cuda_prologue() + "\n" + emit_cuda_kernel(parsed.func, parsed.name)).text();
  tessera::testing::expect_golden(testdata_path(golden()), text);
}

constexpr const char* kNvcc = "PATH=$PATH:/usr/local/cuda/bin nvcc";
bool has_nvcc() {
  const int status = std::system(fmt::format("{} --version > /dev/null 2>&1", kNvcc).c_str());
  return tessera::testing::is_there("nvcc", status == 0);
}
int compile(const std::string& path) {
  return std::system(fmt::format("{} -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Werror "
                                 "all-warnings -c -o /dev/null -I{}/include {}",
                                 kNvcc, TESSERA_SOURCE_DIR, path)
                         .c_str());
}

// What lower/ has yet to make parameters of.
bool has_scratch_memory(const tir::PrimFunc& f) {
  bool found = false;
  tir::for_each_node(f.body, [&](const tir::Stmt& s) {
    const auto* made = s.as<tir::Allocate>();
    found |= made != nullptr && made->buffer->scope == tir::MemoryScope::kGlobal;
  });
  return found;
}

// The golden schedules of native kernels for the device, all in one source.
class CudaKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(testdata_path(kSchedules))) {
      if (std::string name = entry.path().filename(); name.starts_with("device_")) {
        names.push_back(std::move(name));
      }
    }
    std::sort(names.begin(), names.end());
    text_ = (cuda_prologue() + "\n").text();
    int kernels = 0;
    for (const std::string& name : names) {
      const auto parsed = parse_testdata(kSchedules + name);
      if (has_scratch_memory(parsed.func)) continue;
      text_ += emit_cuda_kernel(parsed.func, fmt::format("{}_{}", parsed.name, kernels++)).text();
    }
    EXPECT_GE(kernels, 15);
    ASSERT_TRUE(folder_);
    path_ = folder_->file("all.cu");
    ASSERT_TRUE(write_atomically(path_, text_));
  }

  // How many loads promise that nothing writes their memory while the kernel runs.
  int loads_of_constant_memory(const std::string& options) const {
    const std::string ptx = folder_->file("all.ptx");
    const int status = std::system(fmt::format("{} -std=c++20 {} -ptx -o {} -I{}/include {}", kNvcc,
                                               options, ptx, TESSERA_SOURCE_DIR, path_)
                                       .c_str());
    EXPECT_EQ(status, 0);
    const std::string text = *read_file(ptx);
    int count = 0;
    for (std::size_t at = 0; (at = text.find("ld.global.nc", at)) != text.npos; ++at) ++count;
    return count;
  }

  FileResult<TempDir> folder_ = TempDir::make("cuda-schedules");
  std::string text_, path_;
};

TEST_F(CudaKernels, OfEveryGoldenScheduleCompile) { EXPECT_EQ(compile(path_), 0) << text_; }

// Where a kernel starts before the previous one has ended, ptxas moves such loads in front of
// the wait for that: they read what is about to be written.
TEST_F(CudaKernels, PromiseNothingOfWhatTheyRead) {
  EXPECT_EQ(loads_of_constant_memory("-arch=sm_90a"), 0);
  EXPECT_GT(loads_of_constant_memory("-arch=sm_90a -DTK_DEPENDENT_LAUNCH=0"), 20);
}

// Every scalar function that the loop IR has, and every division, in all types.
TEST(CudaKernelNames, AreThoseOfTheLoopIr) {
  if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
  std::string text =
      (cuda_prologue() + "__global__ void all(float f, double d, double* out) {\n").text();
  for (const tir::Intrinsic& f : tir::intrinsics()) {
    if (f.domain == tir::Intrinsic::Domain::kInteger) continue;  // operators of C++
    for (const std::string& x : {std::string("f"), std::string("d")}) {
      const std::string args = f.arity == 1 ? x : fmt::format("{0}, {0}", x);
      text += fmt::format("  *out += tk::{}({});\n", f.name, args);
    }
  }
  for (const char* type :
       {"int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"}) {
    for (const char* name : {"trunc_div", "floor_div", "floor_mod", "min", "max"}) {
      text += fmt::format("  *out += tk::{0}<{1}>({1}(f), {1}(d));\n", name, type);
    }
  }
  const auto folder = TempDir::make("cuda-names");
  ASSERT_TRUE(folder);
  const std::string path = folder->file("all.cu");
  ASSERT_TRUE(write_atomically(path, text + "}\n"));
  EXPECT_EQ(compile(path), 0) << text;
}

INSTANTIATE_TEST_SUITE_P(Goldens, CudaKernelTest, ::testing::ValuesIn(kGoldens),
                         [](const auto& info) { return std::string(info.param); });

// All in one run of nvcc, which reads its headers for seconds.
TEST(CudaKernelTexts, Compile) {
  if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
  std::string text;
  for (const std::string name : kGoldens) {
    text += fmt::format("#include \"{}\"\n", testdata_path(name + ".golden.cu"));
  }
  const auto folder = TempDir::make("cuda-texts");
  ASSERT_TRUE(folder);
  const std::string path = folder->file("all.cu");
  ASSERT_TRUE(write_atomically(path, text));
  EXPECT_EQ(compile(path), 0) << text;
}

}  // namespace
}  // namespace tessera::emit
