// SPDX-License-Identifier: Apache-2.0
// What processors are for a C++ compiler.
#include "driver/machine_code.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "driver/options.h"
#include "driver/testing/model_test.h"
#include "link/toolchain.h"
#include "runtime/program.h"
#include "types/processor.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

TEST(MachineCodes, FeaturesFollowTheProcessor) {
  auto toolchain = value_of(link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = ""}));
  const auto features = [&](const std::string& mcpu) {
    const Target cpu = value_of(parse_targets(std::vector<std::string>{"cpu -mcpu=" + mcpu}))[0];
    const auto list = value_of(machine_code(cpu, toolchain.compiler())).cpu_features;
    return std::set<std::string>(list.begin(), list.end());
  };
  EXPECT_TRUE(features("x86-64-v3").contains("avx2"));
  EXPECT_TRUE(features("x86-64-v3").contains("fma"));
  EXPECT_FALSE(features("x86-64-v3").contains("avx512f"));
  EXPECT_TRUE(features("x86-64-v4").contains("avx512f"));
  // What libraries for a GPU are made for where no CPU is named: any that this program runs on.
  const auto named = host_target({Target("cpu"), Target("cuda")}),
             any = host_target({Target("cuda")});
  EXPECT_EQ(named.get_string("mcpu"), "native");
  EXPECT_EQ(host_target({}), Target());
  EXPECT_NE(any.get_string("mcpu"), "native");
  for (const std::string& feature : features(any.get_string("mcpu"))) {
    EXPECT_TRUE(feature.starts_with("sse")) << feature;
  }
  const Target odd = value_of(parse_targets(std::vector<std::string>{"cpu -mcpu=pentium9000"}))[0];
  const auto refused = machine_code(odd, toolchain.compiler());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list[0].code, Code::kBadTarget);
  EXPECT_NE(refused.error().list[0].remedy.find("znver5"), std::string::npos);
}

// Those that a compiler knows by itself have what it says; of the others, their bases have.
TEST(MachineCodes, TheTableOfProcessorsIsTheCompilers) {
  auto toolchain = value_of(link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = ""}));
  if (std::string_view(tessera_host_arch()) != "x86-64") GTEST_SKIP() << "needs an x86-64";
  for (const Processor& p : processors()) {
    const auto code =
        value_of(machine_code(Target().with("mcpu", std::string(p.name)), toolchain.compiler()));
    for (const std::string& feature : code.cpu_features) {
      EXPECT_TRUE(has_feature(p.name, feature)) << p.name << " " << feature;
    }
    for (const Processor* q = &p; q != nullptr; q = find_processor(q->base)) {
      for (const std::string_view feature : own_features(*q)) {
        const bool is_there =
            std::ranges::find(code.cpu_features, feature) != code.cpu_features.end();
        // Of Intel's tiles, clang 14 has no macro for the processor.
        EXPECT_TRUE(is_there || feature.starts_with("amx")) << p.name << " " << feature;
      }
    }
  }
}

TEST(MachineCodes, TheBestComesFirst) {
  auto toolchain = value_of(link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = ""}));
  if (std::string_view(tessera_host_arch()) != "x86-64") GTEST_SKIP() << "needs an x86-64";
  const Target cpu = Target().with("mcpu", "x86-64-v2,znver4,x86-64-v3,sapphirerapids");
  const auto codes = value_of(machine_codes(cpu, toolchain.compiler()));
  std::vector<std::string> names;
  for (const MachineCode& code : codes) names.push_back(code.processor);
  EXPECT_EQ(names,
            (std::vector<std::string>{"sapphirerapids", "znver4", "x86-64-v3", "x86-64-v2"}));
  EXPECT_EQ(target_for(cpu, codes[1]).get_string("mcpu"), "znver4");
}

}  // namespace
}  // namespace tessera::driver
