// SPDX-License-Identifier: Apache-2.0
// What users are told about measuring.
#include "driver/tuning.h"

#include <gtest/gtest.h>

#include "driver/testing/model_test.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

std::vector<Target> targets(const std::vector<std::string>& texts) {
  return parse_targets(texts, "").value();
}

TEST(Measuring, IsOfBackEndsThatSayTheyDo) {
  const std::string help =
      "name a back end that measures: `--target cuda --target cutlass`, `--target cuda --target "
      "cublas`, `--target cuda --target cudnn`";
  EXPECT_EQ(help_to_measure(targets({"cpu", "onednn"})), help);
  EXPECT_EQ(help_to_measure(targets({"cuda"})), help);
  EXPECT_EQ(help_to_measure(targets({"cuda", "cudnn"})), "");
  EXPECT_EQ(help_to_measure(targets({"cuda", "cublas"})), "");
}

constexpr const char* kMeasureThem = "`tessera tune` measures them, on the device";

// Two products, one of any number of rows.
class Unmeasured : public testing::ModelTest {
 protected:
  Unmeasured() {
    options_.records = folder_.file("r.db");
    for (const byoc::Workload& work :
         {byoc::Workload{"gemm n=8", {}}, byoc::Workload{"gemm m=?", {32}}}) {
      tasks_.push_back({"b", "1", "sm_90a 132 ", work, work.text()});
    }
    value_of(tune::RecordStore::open(options_.records));
  }
  void add(const std::string& work, const std::string& configuration, const std::string& failure) {
    tune::RecordStore store = value_of(tune::RecordStore::open(options_.records));
    const tune::RecordKey key = {"b", "1", "sm_90a 132 NVIDIA H200", "nvcc", work};
    ASSERT_TRUE(store.add({key, configuration, failure.empty() ? 1.0 : 0.0, 0, failure}));
  }
  // Messages from where they say what there is not, with the remedies.
  std::vector<std::string> told(bool has_just_measured) {
    options_.tuning.measures = has_just_measured;
    std::vector<Diagnostic> warnings;
    EXPECT_TRUE(read_records(options_, tasks_, warnings));
    std::vector<std::string> texts;
    for (const Diagnostic& w : warnings) {
      // Those of kernels that these tasks do not have are of no concern here.
      if (w.message.find("which are chosen") == std::string::npos) continue;
      texts.push_back(w.message.substr(w.message.find("have no")) + ": " + w.remedy);
    }
    return texts;
  }
  void expect_told(const std::string& what, const std::string& remedy,
                   const std::string& remedy_if_just_measured) {
    EXPECT_EQ(told(false), std::vector{what + remedy});
    EXPECT_EQ(told(true), std::vector{what + remedy_if_just_measured});
  }
  CompileOptions options_;
  std::vector<byoc::TuningTask> tasks_;
};

TEST_F(Unmeasured, WhatWasNotTriedNeedsTuningOrMoreTime) {
  expect_told("have nothing for 2 of 2 products, which are chosen without measuring: ",
              kMeasureThem, "give more time with --budget");
}

// What failed is not measured again.
// Which algorithms a search finds is the device's to say.
TEST_F(Unmeasured, OfWhatIsSearchedForThereIsNoOtherKernel) {
  for (byoc::TuningTask& task : tasks_) task.search = [](const auto&, auto&) {};
  add("gemm n=8", "algorithm7 0 ff", "");
  std::vector<Diagnostic> warnings;
  ASSERT_TRUE(read_records(options_, tasks_, warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].message.find("have nothing for 1 of 2 products"), std::string::npos);
}

TEST_F(Unmeasured, WhatFailedIsCountedWithAReason) {
  add("gemm n=8", "k1 auto", "it hangs");
  add("gemm n=8", "k2 auto", "it does not compile: out of registers");
  add("gemm m=32", "k1 auto", "");
  const std::string help = help_after_failures(options_.records);
  expect_told(
      "have no usable time, but 2 failures, for 1 of 2 products, which are chosen without "
      "measuring; one is `k1 auto`: it hangs: ",
      help, help);
}

TEST_F(Unmeasured, WhatHasATimeAtOtherSizesIsNotToBeMeasuredTwice) {
  add("gemm n=8", "k1 auto", "");
  add("gemm m=24", "k1 auto", "");
  add("gemm m=32", "k2 auto", "it hangs");
  expect_told(
      "have nothing at the likely sizes of 1 of 2 products, which are chosen by what was measured "
      "at the nearest: ",
      kMeasureThem, help_after_failures(options_.records));
}

}  // namespace
}  // namespace tessera::driver
