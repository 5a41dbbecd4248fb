// SPDX-License-Identifier: Apache-2.0
// What back ends are used for a CPU unasked, and what that leaves to generated code.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "relay/text/metadata.h"
#include "support/testing/requirement.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

std::optional<Target> unasked(const char* backend, const char* cpu) {
  return backends::find_backend(backend)->default_target(value_of(parse_target(cpu)));
}

TEST(DefaultTargets, FollowTheProcessor) {
  EXPECT_TRUE(unasked("onednn", "cpu -mcpu=x86-64-v4")->get_bool("weight_products"));
  EXPECT_FALSE(unasked("onednn", "cpu -mcpu=x86-64-v3")->get_bool("weight_products"));
  EXPECT_TRUE(unasked("blas", "cpu -mcpu=x86-64-v4"));
  EXPECT_FALSE(unasked("blas", "cpu -mcpu=x86-64-v3"));
  for (const char* other : {"ccompiler", "cutlass", "cudnn", "openvino", "tensorrt"}) {
    EXPECT_FALSE(unasked(other, "cpu -mcpu=x86-64-v4")) << other;
  }
}

class WeightProducts : public testing::ModelTest {
 protected:
  // Who computes something of x w, w constant or not.
  std::set<std::string> used(const char* rows, bool is_constant, bool takes_weights) {
    const std::string matrix = "Tensor[(64, 32), float32]";
    std::string text = fmt::format(
        "def @main(%x: Tensor[({}, 32), float32]{}) {{\n"
        "  nn.softmax(nn.dense(%x, {}, units=64))\n}}\n",
        rows, is_constant ? "" : ", %w: " + matrix, is_constant ? "meta[relay.Constant][0]" : "%w");
    const std::vector<double> ones(std::size_t{64} * 32, 1);
    if (is_constant) {
      text += "#[metadata]\n" +
              relay::metadata_json({tensor_from_doubles({64, 32}, kFloat32, ones)}) + "\n";
    }
    CompileOptions o = options(text);
    o.output = new_library();
    o.targets.push_back(Target("onednn").with("weight_products", takes_weights));
    const CompileReport report = value_of(compile(o));
    std::set<std::string> found;
    for (const PlacementRow& row : report.placement) {
      const bool has_product = std::ranges::find(row.operators, "nn.dense") != row.operators.end();
      if (has_product) found.insert(row.backend);
    }
    return found;
  }
};

TEST_F(WeightProducts, OfKnownSizesAreLeftWhereTheTargetSaysSo) {
  const auto lack = backends::find_backend("onednn")->available(Target("onednn"));
  if (!tessera::testing::is_there("onednn", !lack)) GTEST_SKIP() << lack->reason;
  using Set = std::set<std::string>;
  EXPECT_EQ(used("8", true, true), Set{"onednn"});
  EXPECT_EQ(used("8", true, false), Set{"native"});
  EXPECT_EQ(used("8", false, false), Set{"onednn"}) << "the matrix is an input";
  EXPECT_EQ(used("?n", true, false), Set{"onednn"}) << "the number of rows is open";
}

}  // namespace
}  // namespace tessera::driver
