// SPDX-License-Identifier: Apache-2.0
// What a library tells of weights that are stored in a few bits.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"

namespace tessera::e2e {
namespace {

// Two products whose weights are computed when compiling.
constexpr const char* kModel =
    "#[version = \"0.0.5\"]\n"
    "def @main(%x: Tensor[(1, 512), float32]) {\n"
    "  %0 = reshape(sin(arange(0f, 131072f, 1f, dtype=\"float32\")), newshape=[256, 512]);\n"
    "  %1 = nn.relu(nn.dense(%x, %0, units=256));\n"
    "  %2 = reshape(cos(arange(0f, 65536f, 1f, dtype=\"float32\")), newshape=[256, 256]);\n"
    "  nn.dense(%1, %2, units=256)\n}\n";

TEST(Weights, AreToldByInspect) {
  Command command;
  command.write("m.relay", kModel);
  const ProcessResult made = command.run({"compile", "m.relay", "-o", "m.so", "--weights",
                                          "@first=int4", "--weights", "@last=int8:group=32"});
  ASSERT_TRUE(made.ok()) << made.err;
  const ProcessResult told = command.run({"inspect", "m.so", "--json"});
  ASSERT_TRUE(told.ok()) << told.err;
  const auto weights = nlohmann::json::parse(told.out).at("weights");
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_EQ(weights[0].at("form"), "int4:group=64,symmetric");
  EXPECT_EQ(weights[0].at("reason"), "@first=int4");
  EXPECT_EQ(weights[1].at("form"), "int8:group=32,symmetric");
  // A scale of two bytes for 64 elements, and one number for all zero points: of float16, a half of
  // float32, 0.28 at most.
  EXPECT_LE(weights[0].at("ratio").get<double>(), 0.28 / 2);
  EXPECT_LE(weights[0].at("bytes").get<int>(), 256 * 512 / 2 + 256 * 8 * 2 + 4);
  for (const auto& weight : weights) {
    EXPECT_GT(weight.at("error").get<double>(), 1e-4);
    EXPECT_LT(weight.at("error").get<double>(), 0.1);
  }
  const ProcessResult text = command.run({"inspect", "m.so"});
  EXPECT_NE(text.out.find("form int4:group=64,symmetric  reason @first=int4"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("\nplan:\n  pool arena "), std::string::npos) << text.out;
}

}  // namespace
}  // namespace tessera::e2e
