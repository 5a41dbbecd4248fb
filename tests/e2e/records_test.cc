// SPDX-License-Identifier: Apache-2.0
// Records of measurements as users meet them, on a machine that need not have a GPU.
#include <filesystem>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/measuring/kernel_version.h"
#include "command.h"
#include "link/cuda_compiler.h"
#include "small_product.h"
#include "support/testing/requirement.h"
#include "tune/record_store.h"

namespace tessera::e2e {
namespace {

// The workload of kSmallProduct.
constexpr const char* kWorkload =
    "gemm m=31 n=7 k=13 batch=1 a=float16:row:1 b=float16:column:1 sum=float32 d=float16:1 "
    "{ return sum; }";
constexpr const char* kMeasured = "sm80_128x64x32_w64x32_s2";

// Those that can compute it, the presumably fastest first.
std::vector<std::string> kernels() {
  backends::cutlass::Gemm gemm;
  gemm.m = 31, gemm.n = 7, gemm.k = 13;
  gemm.a_dtype = gemm.b_dtype = gemm.epilogue.dtype = kFloat16;
  gemm.sum_dtype = kFloat32;
  std::vector<std::string> names;
  for (const auto& c : backends::cutlass::candidates(gemm, Target("cutlass"), {})) {
    names.push_back(c.kernel_name());
  }
  return names;
}

const std::string kVersion = backends::cutlass::kernel_version(Target("cutlass"));

class Records : public ::testing::Test {
 protected:
  void SetUp() override {
    command_.share_cache();
    command_.write("m.relay", kSmallProduct);
  }
  ProcessResult run(const std::string& command, const std::vector<std::string>& more) const {
    std::vector<std::string> line = {command, "m.relay", "--target", "cuda", "--target", "cutlass"};
    line.insert(line.end(), more.begin(), more.end());
    return command_.run(line);
  }
  void add(const std::string& device, const std::string& configuration, double time_us,
           const std::string& version = kVersion, const std::string& failure = "") const {
    auto store = tune::RecordStore::open(command_.file("r.db"));
    ASSERT_TRUE(store) << render(store.error());
    const tune::RecordKey key = {"cutlass", version, device, "nvcc", kWorkload};
    ASSERT_TRUE(store->add({key, configuration, time_us, 0.01, failure}));
  }
  void sql(const char* text) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(command_.file("r.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  // nvcc and CUTLASS's headers.
  bool can_compile() const {
    return tessera::testing::is_there("nvcc", link::find_cuda_compiler().has_value()) &&
           tessera::testing::is_there("cutlass", command_.has_backend("cutlass"));
  }
  Command command_;
};

// On demand: nvcc takes a minute for their kernels.
class SlowRecords : public Records {};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Records, ChooseAndGiveTheSameBytes) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 1.5);
  add("sm_90a 132 NVIDIA H200", "sm80_64x64x32_w32x32_s2 z1 auto", 1.75);
  add("sm_80 108 NVIDIA A100", "sm80_128x128x32_w64x64_s2 z1 auto", 1);
  add("sm_90a 132 NVIDIA H200", "sm80_128x128x32_w64x64_s2 z1 auto", 1.25);
  sql("UPDATE records SET time_us = 0.5 WHERE time_us = 1.25");
  std::vector<std::string> libraries;
  for (int turn = 0; turn < 2; ++turn) {
    const ProcessResult compiled =
        run("compile", {"-o", "m.so", "--records", "r.db", "--no-measure"});
    ASSERT_TRUE(compiled.ok()) << compiled.err;
    EXPECT_TRUE(contains(compiled.err, "1 of another GPU, `sm_80 108 NVIDIA A100`, is skipped"))
        << compiled.err;
    EXPECT_TRUE(contains(compiled.err, "row 4 (gemm m=31 n=7 k=13")) << compiled.err;
    libraries.push_back(*read_file(command_.file("m.so")));
  }
  EXPECT_TRUE(libraries[0] == libraries[1]);
  EXPECT_TRUE(contains(libraries[0], kMeasured));
  for (const char* other : {"sm80_64x64x32_w32x32_s2", "sm80_128x128x32_w64x64_s2"}) {
    EXPECT_FALSE(contains(libraries[0], other));
  }
}

TEST_F(SlowRecords, WhatComputesWrongNumbersIsNotTaken) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  const std::vector<std::string> options = {"-o", "m.so", "--records", "r.db", "--no-measure"};
  const auto add_wrong = [&](const std::string& kernel) {
    add("sm_90a 132 NVIDIA H200", kernel + " z1 auto", 0, kVersion,
        "it computes wrong numbers: off by 1");
  };
  const auto all = kernels();
  ASSERT_GT(all.size(), 2u);
  add_wrong(all[0]);
  const ProcessResult second = run("compile", options);
  ASSERT_TRUE(second.ok()) << second.err;
  const std::string library = *read_file(command_.file("m.so"));
  EXPECT_FALSE(contains(library, all[0]));
  EXPECT_TRUE(contains(library, all[1]));
  EXPECT_TRUE(contains(library, "tessera_gemm_"));
  for (std::size_t i = 1; i < all.size(); ++i) add_wrong(all[i]);
  const ProcessResult none = run("compile", options);
  ASSERT_TRUE(none.ok()) << none.err;
  EXPECT_TRUE(contains(none.err, "the records say that no configuration can be used; `sm80_"))
      << none.err;
  EXPECT_FALSE(contains(*read_file(command_.file("m.so")), "tessera_gemm_"));
}

TEST_F(Records, WhatTheyHaveNothingForIsCounted) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  const std::string warning = "have nothing for 1 of 1 products";
  add("sm_80 108 NVIDIA A100", std::string(kMeasured) + " z1 auto", 1);
  const std::vector<std::string> options = {"-o", "m.so", "--records", "r.db", "--no-measure"};
  EXPECT_TRUE(contains(run("compile", options).err, warning));
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 1);
  EXPECT_FALSE(contains(run("compile", options).err, warning));
}

// Sizes that the model leaves open are those of a record, or near to them.
TEST_F(SlowRecords, OfOpenSizesTheNearestIsTaken) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  command_.write("m.relay", R"(#[version = "0.0.5"]
def @main(%x: Tensor[(?rows, 13), float16], %w: Tensor[(7, 13), float16]) {
  nn.dense(%x, %w, units=7)
})");
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 1);
  const std::string other_size = "have nothing at the likely sizes of 1 of 1 products";
  const std::string nothing = "have nothing for 1 of 1 products";
  for (const auto& [rows, warning] :
       {std::pair("rows=1..512:31", ""), std::pair("rows=1..512:50", other_size.c_str()),
        std::pair("rows=1..512:64", nothing.c_str())}) {
    const ProcessResult ran =
        run("compile", {"-o", "m.so", "--dim", rows, "--records", "r.db", "--no-measure"});
    ASSERT_TRUE(ran.ok()) << ran.err;
    EXPECT_TRUE(contains(ran.err, warning)) << rows << ran.err;
    EXPECT_EQ(contains(ran.err, "have nothing"), *warning != '\0') << rows << ran.err;
    const bool is_taken = contains(*read_file(command_.file("m.so")), kMeasured);
    EXPECT_EQ(is_taken, warning != nothing) << rows;
  }
}

// Those of an older tessera, or of another CUTLASS.
TEST_F(Records, OfOtherKernelsAreSkippedAndNamed) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 1, "1");
  add("sm_90a 132 NVIDIA H200", "sm80_64x64x32_w32x32_s2 z1 auto", 2, "1");
  const ProcessResult ran = run("compile", {"-o", "m.so", "--records", "r.db", "--no-measure"});
  ASSERT_TRUE(ran.ok()) << ran.err;
  EXPECT_TRUE(contains(ran.err, "2 of kernels of another version, `cutlass 1`, are skipped"))
      << ran.err;
  EXPECT_TRUE(contains(ran.err, "have nothing for 1 of 1 products")) << ran.err;
  EXPECT_FALSE(contains(*read_file(command_.file("m.so")), kMeasured));
}

// The fastest is of a kernel that nobody has, the next of one that the target leaves out.
TEST_F(Records, OfNoKernelAreSkippedAndNamed) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  add("sm_90a 132 NVIDIA H200", "sm80_of_somebody_else z1 auto", 1);
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 2);
  const ProcessResult ran = run("compile", {"-o", "m.so", "--records", "r.db", "--no-measure"});
  ASSERT_TRUE(ran.ok()) << ran.err;
  EXPECT_TRUE(contains(
      ran.err, "1 of kernels that the targets do not have, `sm80_of_somebody_else`, is skipped"))
      << ran.err;
  EXPECT_TRUE(contains(*read_file(command_.file("m.so")), kMeasured));
}

TEST_F(Records, OfTwoGpusThatFitTheTargetMaySayWhich) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 1.5);
  add("sm_90a 132 NVIDIA H100", "sm80_64x64x32_w32x32_s2 z1 auto", 1);
  const auto compiled = [&](const std::string& target) {
    const ProcessResult ran =
        command_.run({"compile", "m.relay", "--target", "cuda", "--target", target, "-o", "m.so",
                      "--records", "r.db", "--no-measure"});
    EXPECT_TRUE(ran.ok()) << ran.err;
    const bool is_second = contains(*read_file(command_.file("m.so")), kMeasured);
    const bool warns = contains(ran.err, "are of 2 GPUs that the target may be");
    return std::pair(is_second, warns);
  };
  EXPECT_EQ(compiled("cutlass"), std::pair(false, true));
  EXPECT_EQ(compiled("cutlass -model='NVIDIA H200'"), std::pair(true, false));
}

TEST_F(Records, WithoutAGpuNothingIsMeasuredOrWritten) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver";
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  for (const auto& [command, more] :
       {std::pair("tune", std::vector<std::string>{"--records", "new.db"}),
        std::pair("compile",
                  std::vector<std::string>{"--records", "new.db", "--tune", "-o", "m.so"})}) {
    const ProcessResult ran = run(command, more);
    EXPECT_EQ(ran.exit_status, 1);
    EXPECT_TRUE(contains(ran.err,
                         "measuring needs a GPU: there is no NVIDIA driver on this machine "
                         "(`libcuda.so.1` was not found)"))
        << ran.err;
  }
  EXPECT_FALSE(std::filesystem::exists(command_.file("new.db")));
  EXPECT_FALSE(std::filesystem::exists(command_.file("m.so")));
}

// Before anything is measured: what is damaged may be replaced.
TEST_F(Records, TuningNamesWhatItSkips) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver";
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  add("sm_80 108 NVIDIA A100", std::string(kMeasured) + " z1 auto", 1);
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 2);
  add("sm_90a 132 NVIDIA H200", std::string(kMeasured) + " z1 auto", 2, "1");
  sql("UPDATE records SET time_us = 0.5 WHERE rowid = 2");
  const ProcessResult ran = run("tune", {"--records", "r.db"});
  EXPECT_EQ(ran.exit_status, 1);
  for (const char* part :
       {"1 damaged row is skipped: row 2 (gemm m=31 n=7 k=13", "measuring needs a GPU",
        "1 of another GPU, `sm_80 108 NVIDIA A100`, is skipped",
        "1 of kernels of another version, `cutlass 1`, is skipped"}) {
    EXPECT_TRUE(contains(ran.err, part)) << part << "\n" << ran.err;
  }
  EXPECT_FALSE(contains(ran.err, "have nothing for")) << ran.err;
}

TEST_F(Records, WhatHasNoChoicesNeedsNoGpu) {
  const ProcessResult ran =
      command_.run({"tune", "m.relay", "--target", "cpu", "--records", "n.db"});
  EXPECT_TRUE(ran.ok()) << ran.err;
  EXPECT_TRUE(contains(ran.out, "there is nothing to measure")) << ran.out;
  EXPECT_TRUE(
      contains(ran.out, "help: name a back end that measures: `--target cuda --target cutlass`"))
      << ran.out;
  const ProcessResult json =
      command_.run({"tune", "m.relay", "--target", "cpu", "--records", "n.db", "--json"});
  EXPECT_TRUE(contains(json.out, "\"tuned\": []")) << json.out;
  EXPECT_FALSE(std::filesystem::exists(command_.file("n.db")));
}

TEST_F(Records, WhatHasNoChoicesTakesNoRecords) {
  add("sm_90a 132 NVIDIA H200", "some", 1);
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"compile", "m.relay", "-o", "m.so", "--target", "cpu"};
    line.insert(line.end(), more.begin(), more.end());
    const ProcessResult ran = command_.run(line);
    EXPECT_TRUE(ran.ok()) << ran.err;
    return ran.err;
  };
  const std::string warning =
      " has no effect: neither generated code nor a back end of the targets has a choice";
  EXPECT_TRUE(contains(said({"--records", "r.db"}), "--records" + warning));
  EXPECT_TRUE(contains(said({"--tune"}), "--tune" + warning));
  EXPECT_TRUE(contains(said({"--tune"}), "--target cuda --target cutlass"));
  EXPECT_FALSE(contains(said({}), warning));
}

TEST_F(Records, WithoutACudaCompilerTheBackEndSaysSo) {
  std::filesystem::create_directories(command_.file("bin"));
  const std::string nvcc = command_.write("bin/nvcc", "#!/bin/sh\nexit 7\n");
  std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
  command_.set("PATH", command_.file("bin") + ":/usr/bin:/bin");
  const std::string why = nvcc + "` does not run: exit status 7: install the CUDA toolkit";
  EXPECT_TRUE(contains(command_.run({"backends"}).out, why));
  for (const auto& ran :
       {run("tune", {"--records", "n.db"}), run("compile", {"--tune", "-o", "m.so"})}) {
    EXPECT_EQ(ran.exit_status, 1);
    EXPECT_TRUE(contains(ran.err, "error[E0502]: cutlass: `" + why)) << ran.err;
    EXPECT_TRUE(contains(ran.err, "help: measuring needs it")) << ran.err;
  }
}

TEST_F(Records, WithoutItsHeadersTheBackEndMeasuresNothing) {
  const ProcessResult ran = command_.run({"tune", "m.relay", "--target", "cuda", "--target",
                                          "cutlass -include=/nonexistent", "--records", "n.db"});
  EXPECT_EQ(ran.exit_status, 1);
  EXPECT_TRUE(contains(ran.err, "error[E0502]: cutlass: ")) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(command_.file("n.db")));
}

TEST_F(Records, ContradictionsAreRefused) {
  const ProcessResult ran = run("compile", {"-o", "m.so", "--tune", "--no-measure"});
  EXPECT_EQ(ran.exit_status, 1);
  EXPECT_TRUE(contains(ran.err, "--tune and --no-measure exclude each other")) << ran.err;
  EXPECT_EQ(run("tune", {}).exit_status, 2);  // --records is needed
}

TEST_F(Records, OtherFilesAreRefusedAndNotTouched) {
  command_.write("foreign.db", "x");
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"records", "foreign.db"},
        {"records", "foreign.db", "--merge", "foreign.db"},
        {"compile", "m.relay", "--target", "cpu", "-o", "m.so", "--records", "foreign.db"}}) {
    const ProcessResult ran = command_.run(line);
    EXPECT_EQ(ran.exit_status, 1) << line[0];
    EXPECT_TRUE(contains(ran.err, "`foreign.db` is not a file of records")) << ran.err;
  }
  EXPECT_EQ(*read_file(command_.file("foreign.db")), "x");
}

TEST_F(Records, PathsThatCannotBeUsedAreTold) {
  std::filesystem::create_directory(command_.file("folder"));
  add("sm_90a 132 NVIDIA H200", "some", 1);
  const auto refused = [&](const std::vector<std::string>& line, const char* part,
                           const char* help) {
    const ProcessResult ran = command_.run(line);
    EXPECT_EQ(ran.exit_status, 1) << part;
    EXPECT_TRUE(contains(ran.err, part)) << ran.err;
    EXPECT_TRUE(contains(ran.err, help)) << ran.err;
  };
  const char* is_folder = "`folder` is a folder, and records are in a file";
  refused({"records", "folder"}, is_folder, "help: name a file in it");
  refused({"records", "folder", "--merge", "r.db"}, is_folder, "help: name a file in it");
  refused({"records", "none/new.db", "--merge", "r.db"},
          "the records in `none/new.db`: there is no folder `none`", "help: make the folder");
  command_.write("foreign.db", "x");
  for (const char* merged : {"missing.db", "foreign.db", "folder"}) {
    EXPECT_EQ(command_.run({"records", "new.db", "--merge", "r.db", "--merge", merged}).exit_status,
              1);
    EXPECT_FALSE(std::filesystem::exists(command_.file("new.db"))) << merged;
  }
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"tune", "m.relay", "--target", "cpu", "--records", ""},
        {"compile", "m.relay", "--target", "cpu", "-o", "m.so", "--records", ""},
        {"records", ""}}) {
    const ProcessResult ran = command_.run(line);
    EXPECT_EQ(ran.exit_status, 2) << line[0];
    EXPECT_TRUE(contains(ran.err, "the name of the file is empty")) << ran.err;
  }
}

TEST_F(Records, ArePrintedAndMerged) {
  add("sm_90a 132 NVIDIA H200", "slow", 2);
  std::filesystem::rename(command_.file("r.db"), command_.file("other.db"));
  add("sm_90a 132 NVIDIA H200", "fast", 1);
  const ProcessResult merged = command_.run({"records", "r.db", "--merge", "other.db"});
  ASSERT_TRUE(merged.ok()) << merged.err;
  EXPECT_TRUE(contains(merged.err, "other.db: 1 added, 0 better")) << merged.err;
  EXPECT_LT(merged.out.find("1.00 +- 0.01 us  fast"), merged.out.find("2.00 +- 0.01 us  slow"))
      << merged.out;
  const ProcessResult json = command_.run({"records", "r.db", "--json"});
  EXPECT_TRUE(contains(json.out, "\"configuration\": \"slow\"")) << json.out;
  EXPECT_EQ(command_.run({"records", "missing.db"}).exit_status, 1);
  EXPECT_FALSE(std::filesystem::exists(command_.file("missing.db")));
}

}  // namespace
}  // namespace tessera::e2e
