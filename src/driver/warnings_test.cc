// SPDX-License-Identifier: Apache-2.0
#include "driver/warnings.h"

#include <gtest/gtest.h>

#include "ops/records/table.h"
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

TEST(Overflows, AreToldWithWhatHelps) {
  OutputError output;
  output.output = "y";
  output.overflown = 3;
  output.elements = 8;
  const Diagnostic half = overflow_of(output, kFloat16);
  EXPECT_EQ(half.message,
            "output `y` overflows float16: 3 of 8 elements are infinite or NaN, and numbers in the "
            "float32 model");
  EXPECT_NE(half.remedy.find("--precision bf16"), std::string::npos);
  EXPECT_EQ(overflow_of(output, kBFloat16).remedy, "omit --precision");
}

TEST(VainPrecision, IsThatOfAModelOfTheOtherType) {
  const auto told = [](DType dtype, DType precision) -> std::string {
    relay::FunctionBuilder b;
    const Type type = tensor_type({Dim(4)}, dtype);
    const relay::NodeId x = b.param("x", type), y = b.call(ops::op("exp"), {x});
    b.set_type(x, type);
    b.set_type(y, type);
    Module module;
    module.functions["main"] = b.finish(y);
    const auto vain = vain_precision(module, precision);
    return vain ? vain->message : "";
  };
  EXPECT_EQ(told(kFloat16, kBFloat16),
            "--precision bf16 rewrites nothing: the model's floats are float16 already");
  EXPECT_EQ(told(kBFloat16, kFloat16),
            "--precision fp16 rewrites nothing: the model's floats are bfloat16 already");
  EXPECT_EQ(told(kFloat16, kFloat16), "");
  EXPECT_EQ(told(kFloat32, kBFloat16), "");
}

}  // namespace
}  // namespace tessera::driver
