// SPDX-License-Identifier: Apache-2.0
#include "driver/device_of_costs.h"

#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>

#include "driver/testing/model_test.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

constexpr const char* kGpu = "sm_90a 132 NVIDIA H200";
constexpr const char* kOther = "sm_90a 114 NVIDIA H100 PCIe";

// As with `--partition collage --no-measure`, where no GPU is to be seen.
class DeviceOfCosts : public testing::ModelTest {
 protected:
  DeviceOfCosts() : records_(value_of(tune::RecordStore::open(folder_.file("r.db")))) {
    options_.targets = {value_of(parse_target("cuda -arch=sm_90a"))};
    options_.partition = Partition::kCollage;
    options_.threads = 3;
    ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  }
  ~DeviceOfCosts() override {
    if (visible_) ::setenv("CUDA_VISIBLE_DEVICES", visible_->c_str(), 1);
    if (!visible_) ::unsetenv("CUDA_VISIBLE_DEVICES");
  }
  void add(const std::string& back_end, const std::string& device,
           const std::string& work = "work") {
    ASSERT_TRUE(records_.add({{back_end, "", device, "nvcc", work}, "collage", 1, 0, ""}));
  }
  Result<std::string> device() const { return device_of_costs(options_, records_); }
  std::string told() const {
    const Result<std::string> found = device();
    return found ? "found " + *found : render(found.error());
  }
  CompileOptions options_;
  tune::RecordStore records_;

 private:
  static std::optional<std::string> visible_devices() {
    const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  }
  std::optional<std::string> visible_ = visible_devices();
};

TEST_F(DeviceOfCosts, WithoutAGpuIsTheOneOfTheRecords) {
  add("collage cudnn", kGpu, "conv2d");
  add("collage native", kGpu, "softmax");
  add("native", kGpu, "conv2d 3x3");
  EXPECT_EQ(value_of(device()), kGpu);
  // Neither of another architecture nor what a back end measures for itself is in question.
  add("collage native", "sm_80 108 NVIDIA A100");
  add("collage native", "sm_90 132 NVIDIA H100 80GB HBM3");
  add("cutlass", kOther);
  EXPECT_EQ(value_of(device()), kGpu);
}

TEST_F(DeviceOfCosts, AlgorithmsOfGeneratedCodeAreCosts) {
  add("native", kGpu);
  EXPECT_EQ(value_of(device()), kGpu);
}

TEST_F(DeviceOfCosts, OfSeveralGpusOrNoneThereIsASentence) {
  const auto expect_told = [&](const std::string& what) {
    EXPECT_NE(told().find("the records have costs of " + what), std::string::npos) << told();
    EXPECT_NE(told().find("help: give those of one GPU with --records FILE"), std::string::npos)
        << told();
  };
  expect_told("0 GPUs of sm_90a");
  add("cutlass", kGpu);
  add("collage native", "sm_80 108 NVIDIA A100");
  expect_told("0 GPUs of sm_90a");
  add("collage cutlass", kGpu);
  add("collage cutlass", kOther);
  expect_told("2 GPUs of sm_90a");
}

TEST_F(DeviceOfCosts, RecordsAreNoGpuToMeasureOn) {
  add("collage native", kGpu);
  options_.tuning.measures = true;
  EXPECT_NE(told().find("candidates are measured on the GPU: "), std::string::npos) << told();
  EXPECT_NE(told().find("--no-measure"), std::string::npos) << told();
}

// Whatever records there are: a CPU is here.
TEST_F(DeviceOfCosts, OfACpuIsThisOne) {
  add("collage native", "another CPU, 3 threads of its own, cpu");
  options_.targets = {Target()};
  const std::string here = value_of(device());
  EXPECT_NE(here.find(", 3 threads of its own, "), std::string::npos) << here;
  options_.tuning.measures = true;
  EXPECT_EQ(value_of(device()), here);
  options_.threads = 0;
  EXPECT_NE(value_of(device()).find(", all threads of its own, "), std::string::npos);
}

}  // namespace
}  // namespace tessera::driver
