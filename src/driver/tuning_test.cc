// SPDX-License-Identifier: Apache-2.0
// What users are told about measuring.
#include "driver/tuning.h"

#include <gtest/gtest.h>

#include "types/target_list.h"

namespace tessera::driver {
namespace {

std::vector<Target> targets(const std::vector<std::string>& texts) {
  return parse_targets(texts, "").value();
}

TEST(Measuring, IsOfBackEndsThatSayTheyDo) {
  const std::string help = "name a back end that measures: `--target cuda --target cutlass`";
  EXPECT_EQ(help_to_measure(targets({"cpu", "onednn"})), help);
  EXPECT_EQ(help_to_measure(targets({"cuda"})), help);
  EXPECT_EQ(help_to_measure(targets({"cuda", "cublas"})), help);  // nothing but patterns
  EXPECT_EQ(help_to_measure(targets({"cuda", "cublas", "cutlass"})), "");
}

}  // namespace
}  // namespace tessera::driver
