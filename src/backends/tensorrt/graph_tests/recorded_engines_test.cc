// SPDX-License-Identifier: Apache-2.0
// Engines that stand in the records: they are taken, and none is built.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/tensorrt/graph_tests/stand_in.h"
#include "backends/testing/made_in_memory.h"

namespace tessera::backends::tensorrt {
namespace {

using backends::testing::MadeInMemory;
using testing::compiled;
using testing::engine_of;
using testing::module_of;
using testing::Setting;
using testing::thrown_by;

const testing::StandIn engine_stand_in;

TEST(RecordedEngines, AreTakenWhereNothingCanBeBuilt) {
  const Module module = module_of("nn.softmax(nn.relu(%x))");
  MadeInMemory made;
  const std::string built = engine_of(module, Target("tensorrt"), &made);
  ASSERT_EQ(made.parts.size(), 1u);
  const auto& [key, part] = *made.parts.begin();
  EXPECT_EQ(part.bytes, built);
  EXPECT_EQ(key.backend, "tensorrt");
  EXPECT_EQ(key.version, "1, TensorRT " + engine_stand_in.version);
  EXPECT_EQ(key.device, "sm_90a 132 NVIDIA H200");
  EXPECT_TRUE(key.workload.ends_with(" nn.relu,nn.softmax")) << key.workload;
  // Bytes that nobody would build.
  made.parts.begin()->second.bytes = built + "kept";
  made.only_read();
  const Setting setting("FAKE_TENSORRT_NO_DEVICE", "1");
  EXPECT_EQ(engine_of(module, Target("tensorrt"), &made), built + "kept");
}

// What decides which engine it is is in the key, and nothing else: not what a function is called.
TEST(RecordedEngines, AreOfTheirGraphAndOptions) {
  const auto dense = [](const char* weights) {
    const Module module = backends::testing::parse_graph(fmt::format(
        "\ndef @main(%x: Tensor[(2, 3), float32], {0}: Tensor[(4, 3), float32]) {{\n  nn.dense(%x, "
        "{0}, units=4)\n}}",
        weights));
    return module.functions.at("main");
  };
  Module module = module_of("nn.relu(%x)");
  module.functions["again"] = module.functions.at("main");
  module.functions["other"] = module_of("tanh(%x)").functions.at("main");
  module.functions["product"] = dense("%c_w");
  module.functions["product_again"] = dense("%c_v");
  MadeInMemory made;
  compiled(module, Target("tensorrt"), &made);
  std::vector<std::string> operators;
  for (const auto& [key, part] : made.parts) {
    operators.push_back(key.workload.substr(key.workload.rfind(' ') + 1));
  }
  std::sort(operators.begin(), operators.end());
  EXPECT_EQ(operators, (std::vector<std::string>{"nn.dense", "nn.relu", "tanh"}));
  compiled(module, Target("tensorrt").with("tf32", true), &made);
  EXPECT_EQ(made.parts.size(), 6u);
}

TEST(RecordedEngines, OneThatIsMissingIsASentence) {
  MadeInMemory made;
  made.only_read();
  const auto compile = [&] { compiled(module_of("nn.relu(%x)"), Target("tensorrt"), &made); };
  std::string why = thrown_by(compile);
  const std::string expected = fmt::format(
      "the records have no engine of TensorRT {} on a device `sm_90a`", engine_stand_in.version);
  EXPECT_NE(why.find(expected), std::string::npos) << why;
  EXPECT_NE(why.find("compile on the machine with the device, with --tune"), std::string::npos)
      << why;
  // Of another version of the library there may be one.
  MadeInMemory older;
  compiled(module_of("nn.relu(%x)"), Target("tensorrt"), &older);
  byoc::MadeKey key = older.parts.begin()->first;
  key.version = "1, TensorRT 10.0.0";
  made.parts.emplace(key, older.parts.begin()->second);
  why = thrown_by(compile);
  EXPECT_NE(why.find(expected), std::string::npos) << why;
}

// Of a network that cannot be written, on a machine without the device, too.
TEST(RecordedEngines, WhatIsRefusedStaysRefused) {
  const Module module = module_of("nn.relu(%x)");
  const auto compile = [&](MadeInMemory& made) {
    return thrown_by([&] { compiled(module, Target("tensorrt"), &made); });
  };
  MadeInMemory made;
  std::string why;
  {
    const Setting setting("FAKE_TENSORRT_NO_ACTIVATIONS", "1");
    why = compile(made);
    EXPECT_NE(why.find("TensorRT takes no layer `activation`"), std::string::npos) << why;
  }
  ASSERT_EQ(made.parts.size(), 1u);
  EXPECT_EQ(compile(made), why);
  made.only_read();
  EXPECT_EQ(compile(made), why);
}

// The memory may be there the next time.
TEST(RecordedEngines, WhatIsNotBuiltIsTriedAgain) {
  const Module module = module_of("nn.relu(%x)");
  MadeInMemory made;
  {
    const Setting setting("FAKE_TENSORRT_IS_FULL", "1");
    const std::string why = thrown_by([&] { compiled(module, Target("tensorrt"), &made); });
    EXPECT_NE(why.find("back end `tensorrt`: TensorRT builds no engine: no memory is left"),
              std::string::npos)
        << why;
  }
  EXPECT_TRUE(made.parts.empty());
  EXPECT_EQ(engine_of(module, Target("tensorrt"), &made), engine_of(module));
  EXPECT_EQ(made.parts.size(), 1u);
}

}  // namespace
}  // namespace tessera::backends::tensorrt
