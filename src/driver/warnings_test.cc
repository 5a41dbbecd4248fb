// SPDX-License-Identifier: Apache-2.0
#include "driver/warnings.h"

#include <gtest/gtest.h>

#include "types/target_list.h"

namespace tessera::driver {
namespace {

std::vector<std::string> warnings_of(const std::vector<std::string>& targets) {
  std::vector<std::string> messages;
  for (const Diagnostic& warning : doubtful_options(parse_targets(targets, "").value())) {
    messages.push_back(warning.message);
  }
  return messages;
}

TEST(DoubtfulOptions, CutlassWithoutHoppersInstructionsIsTold) {
  const std::vector<std::string> told = {
      "target `cutlass` is for sm_90, without Hopper's own instructions: its kernels are those "
      "for older devices"};
  EXPECT_EQ(warnings_of({"cuda", "cutlass -arch=sm_90"}), told);
  EXPECT_EQ(warnings_of({"cuda -arch=sm_90", "cutlass"}), told);
  EXPECT_TRUE(warnings_of({"cuda", "cutlass"}).empty());
  EXPECT_TRUE(warnings_of({"cuda -arch=sm_80", "cutlass"}).empty());
  EXPECT_TRUE(warnings_of({"cuda -arch=sm_90", "cublas"}).empty());
  EXPECT_TRUE(warnings_of({"cuda -arch=sm_90 -ptx", "cutlass"}).empty());  // for later ones, too
}

TEST(DoubtfulOptions, PtxThatNoLaterDeviceRunsIsTold) {
  EXPECT_EQ(warnings_of({"cuda -ptx"}).size(), 1U);
}

}  // namespace
}  // namespace tessera::driver
