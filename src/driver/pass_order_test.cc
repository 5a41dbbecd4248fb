// SPDX-License-Identifier: Apache-2.0
#include "driver/pass_order.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/catalogue.h"
#include "passes/pipeline_text.h"

namespace tessera::driver {
namespace {

CompileOptions options_for(const std::vector<std::string>& targets) {
  CompileOptions options;
  for (const std::string& t : targets) options.targets.emplace_back(t);
  return options;
}

TEST(PassOrder, ListsOfAllStagesAreReadable) {
  for (const auto& targets : {std::vector<std::string>{"cpu"}, {"cuda"}, {"cuda", "cutlass"}}) {
    for (const Stage stage : {Stage::kWidening, Stage::kGraph, Stage::kPrecision, Stage::kLayout,
                              Stage::kLaidOut, Stage::kNorms, Stage::kNative}) {
      const std::string_view argument = stage == Stage::kWidening    ? "float16,bfloat16"
                                        : stage == Stage::kPrecision ? "float16"
                                        : stage == Stage::kLayout    ? "NHWC"
                                        : stage == Stage::kNative    ? "true"
                                                                     : "";
      const std::string list = pass_list(stage, options_for(targets), argument);
      const auto calls = passes::parse_pipeline(list, pass_catalogue());
      EXPECT_TRUE(calls) << list;
    }
  }
}

TEST(PassOrder, StepsDependOnOptionsAndTargets) {
  CompileOptions options = options_for({"cpu"});
  EXPECT_FALSE(pass_list(Stage::kGraph, options).starts_with("elide-index-checks"));
  EXPECT_TRUE(
      pass_list(Stage::kNative, options, "false").ends_with(",fuse-ops{link_params=false}"));
  EXPECT_NE(pass_list(Stage::kGraph, options).find("separate-widening"), std::string::npos);
  options.unchecked_indices = true;
  EXPECT_TRUE(pass_list(Stage::kGraph, options).starts_with("elide-index-checks{all=true},"));
  const std::string on_gpu = pass_list(Stage::kGraph, options_for({"cuda"}));
  EXPECT_NE(on_gpu.find("combine-parallel-dense"), std::string::npos);
  EXPECT_EQ(on_gpu.find("convert-quantized-products"), std::string::npos);
  EXPECT_EQ(on_gpu.find("separate-widening"), std::string::npos);
  const std::string with_integers = pass_list(Stage::kGraph, options_for({"cuda", "cutlass"}));
  EXPECT_TRUE(with_integers.starts_with("decompose-quantization,convert-quantized-products,"));
}

// Whoever adds a row says what it is there for, but for those that a stage begins or ends with.
TEST(PassOrder, StepsHaveReasons) {
  for (const PassStep& step : pass_order()) EXPECT_FALSE(step.why.empty()) << step.pass;
}

}  // namespace
}  // namespace tessera::driver
