// SPDX-License-Identifier: Apache-2.0
#include "driver/slow_loops.h"

#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class SlowLoops : public testing::ModelTest {
 protected:
  // The warning about the loops of a model in native code, if there is one.
  std::optional<Diagnostic> told(const std::string& text, const std::string& target = "cpu") {
    CompileOptions o = options(text);
    o.targets = {value_of(parse_target(target))};
    for (const Diagnostic& d : value_of(place_model(o)).report.warnings) {
      if (d.code == Code::kSlowCode && d.message.find("vectors") != std::string::npos) return d;
    }
    return std::nullopt;
  }

  void expect_told(const std::string& text, const std::string& why, const std::string& remedy,
                   const std::string& target = "cpu") {
    const auto warning = told(text, target);
    ASSERT_TRUE(warning) << why;
    EXPECT_EQ(warning->severity, Severity::kWarning);
    EXPECT_NE(warning->message.find(why), std::string::npos) << warning->message;
    EXPECT_NE(warning->remedy.find(remedy), std::string::npos) << warning->remedy;
  }
};

TEST_F(SlowLoops, OfFunctionsOfTheLibraryAreTold) {
  const std::string model =
      "def @main(%x: Tensor[(512, 1024), float32]) {\n  nn.relu(sin(%x))\n}\n";
  expect_told(model, "`sin` is computed by the C library", "change what the reasons name");
  EXPECT_NE(told(model)->message.find("`sin, nn.relu` takes about 100 % of the model's time"),
            std::string::npos)
      << told(model)->message;
}

TEST_F(SlowLoops, ThatVectorsComputeAreNot) {
  for (const char* body :
       {"nn.relu(exp(%x))", "nn.softmax(%x)", "transpose(%x, axes=[1, 0])", "sum(%x, axis=[0])",
        "mean(%x, axis=[1])", "concatenate((%x, %x), axis=1)", "nn.dense(%x, %x, units=512)",
        "reshape(nn.max_pool2d(reshape(%x, newshape=[1, 8, 256, 256]), pool_size=[2, 2], "
        "strides=[2, 2]), newshape=[-1])"}) {
    const auto warning =
        told(fmt::format("def @main(%x: Tensor[(512, 1024), float32]) {{\n  {}\n}}\n", body));
    EXPECT_FALSE(warning) << body << ": " << warning->message;
  }
}

TEST_F(SlowLoops, OfLittleWorkAreNot) {
  EXPECT_FALSE(told("def @main(%x: Tensor[(16, 64), float32]) {\n  sin(%x)\n}\n"));
  // Beside a product that takes many times as long.
  EXPECT_FALSE(
      told("def @main(%x: Tensor[(128, 512), float32], %w: Tensor[(8192, 512), float32]) {\n"
           "  (nn.dense(%x, %w, units=8192), sin(%x))\n}\n"));
}

TEST_F(SlowLoops, ThatDivideIntegersAreTold) {
  expect_told(
      "def @main(%x: Tensor[(512, 1024), int64], %y: Tensor[(512, 1024), int64]) {\n"
      "  divide(%x, %y)\n}\n",
      "it divides integers", "change what the reasons name");
}

TEST_F(SlowLoops, ThatConvertHalvesWithoutInstructionsAreTold) {
  const std::string model =
      "def @main(%x: Tensor[(512, 1024), float16]) {\n  nn.relu(cast(%x, dtype=\"float32\"))\n}\n";
  expect_told(model, "no instructions that convert float16", "-mcpu=x86-64-v3", "cpu -mcpu=x86-64");
  EXPECT_FALSE(told(model, "cpu -mcpu=x86-64-v3"));
}

TEST_F(SlowLoops, OfOpenSizesNameTheOptions) {
  const std::string model =
      "def @main(%x: Tensor[({}, {}, 2), float32]) {{\n  nn.softmax(%x, axis=2)\n}}\n";
  expect_told(fmt::format(fmt::runtime(model), "?rows", 8192), "2 iterations, too few for a vector",
              "--dim rows=...");
}

}  // namespace
}  // namespace tessera::driver
