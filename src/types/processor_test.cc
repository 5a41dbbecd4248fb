// SPDX-License-Identifier: Apache-2.0
#include "types/processor.h"

#include <set>

#include <gtest/gtest.h>

#include "runtime/program.h"

namespace tessera {
namespace {

TEST(Processors, StandAfterTheirBasesOnce) {
  std::set<std::string_view> seen;
  for (const Processor& p : processors()) {
    EXPECT_TRUE(p.base.empty() || seen.contains(p.base)) << p.name;
    EXPECT_TRUE(seen.insert(p.name).second) << p.name;
  }
}

// What nobody can check would be an illegal instruction on another machine.
TEST(Processors, HaveFeaturesThatLibrariesCheck) {
  for (const Processor& p : processors()) {
    for (const std::string_view feature : own_features(p)) {
      EXPECT_GE(tessera_cpu_has(std::string(feature).c_str()), 0) << p.name << " " << feature;
    }
  }
}

TEST(Processors, HaveWhatTheirBasesHave) {
  EXPECT_TRUE(has_feature("znver5", "avx512bf16"));
  EXPECT_TRUE(has_feature("znver5", "sse2"));
  EXPECT_FALSE(has_feature("znver3", "avx512f"));
  EXPECT_TRUE(has_feature("graniterapids", "amx-tile"));
  EXPECT_FALSE(has_feature("pentium9000", "sse2"));
}

TEST(Processors, HaveAvx2AtMostWhereAllDo) {
  const auto at_most = [](const char* text) { return has_avx2_at_most(*parse_target(text)); };
  EXPECT_TRUE(at_most("cpu -mcpu=x86-64-v3"));
  EXPECT_TRUE(at_most("cpu -mcpu=x86-64-v3,znver3"));
  EXPECT_FALSE(at_most("cpu -mcpu=x86-64-v3,x86-64-v4"));
  EXPECT_FALSE(at_most("cpu -mcpu=x86-64"));
  EXPECT_FALSE(at_most("cpu -mcpu=sapphirerapids"));
}

TEST(Processors, AreNamedInAList) {
  const auto target = parse_target("cpu -mcpu=x86-64-v3,znver4");
  ASSERT_TRUE(target);
  EXPECT_EQ(processors_of(*target), (std::vector<std::string>{"x86-64-v3", "znver4"}));
  EXPECT_EQ(processors_of(Target()), std::vector<std::string>{"native"});
  for (const char* odd : {"cpu -mcpu=x86-64-v3,", "cpu -mcpu=a,,b", "cpu -mcpu=znver4,znver4"}) {
    const auto refused = parse_target(odd);
    ASSERT_FALSE(refused) << odd;
    EXPECT_NE(refused.error().list[0].message.find("each once"), std::string::npos) << odd;
  }
}

}  // namespace
}  // namespace tessera
