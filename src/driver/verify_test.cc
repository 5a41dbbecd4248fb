// SPDX-License-Identifier: Apache-2.0
// What --verify calls a difference.
#include "driver/verify.h"

#include <limits>

#include <gtest/gtest.h>

#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "support/files.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class Verification : public testing::ModelTest {
 protected:
  Module module_of(const std::string& text) {
    const std::string path = folder_.file("m.relay");
    EXPECT_TRUE(write_atomically(path, "#[version = \"0.0.5\"]\n" + text));
    Module module = value_of(load_model(path, {}));
    module.externs["main"].backend = "some";
    return module;
  }
};

TEST_F(Verification, FindsWrongNumbers) {
  Module module = module_of("def @main(%x: Tensor[(2), float32]) { exp(%x) }\n");
  const std::vector<Tensor> inputs = {Tensor::of<float>({2}, kFloat32, {0, 0})};
  const auto verified = [&](float second) {
    Verifier verifier(module, 60);
    const std::vector<Tensor> outputs = {Tensor::of<float>({2}, kFloat32, {1, second})};
    verifier.compare("main", inputs, outputs);
    return verifier.finish();
  };
  EXPECT_EQ(value_of(verified(1.00001f)).compared, std::vector<std::string>{"main"});
  const auto wrong = verified(1.01f);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().list.front().code, Code::kVerifyFailed);
  EXPECT_NE(wrong.error().list.front().message.find("`main` of some: result 0"), std::string::npos);
  EXPECT_FALSE(wrong.error().list.front().remedy.empty());
}

// A primitive function of the text may hold a constant, which its kernel is given as a table.
TEST_F(Verification, TablesOfAKernelAreConstantsOfItsBody) {
  const Module module = module_of("def @main(%x: Tensor[(2), float32]) { exp(%x) }\n");
  const std::vector<Tensor> inputs = {Tensor::of<float>({2}, kFloat32, {0, 0}),
                                      Tensor::of<float>({3}, kFloat32, {1, 2, 3})};
  const std::vector<Tensor> outputs = {Tensor::of<float>({2}, kFloat32, {1, 1})};
  Verifier verifier(module, 60);
  verifier.compare("main", inputs, outputs);
  EXPECT_EQ(value_of(verifier.finish()).compared, std::vector<std::string>{"main"});
}

TEST_F(Verification, AllowsThePrecisionThatAKernelStates) {
  Module module = module_of(
      "def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32]) {\n"
      "  nn.dense(%x, %w, units=2)\n}\n");
  const std::vector<Tensor> inputs = {Tensor::of<float>({1, 2}, kFloat32, {1, 2}),
                                      Tensor::of<float>({2, 2}, kFloat32, {1, 0, 0, 1})};
  const auto agrees = [&](DType precision, float second) {
    module.externs["main"].float32_precision = precision;
    Verifier verifier(module, 60);
    const std::vector<Tensor> outputs = {Tensor::of<float>({1, 2}, kFloat32, {1, second})};
    verifier.compare("main", inputs, outputs);
    return verifier.finish().has_value();
  };
  EXPECT_FALSE(agrees(kFloat32, 2.001f));
  EXPECT_TRUE(agrees(kFloat16, 2.001f));
  EXPECT_FALSE(agrees(kFloat16, 2.1f));
}

// What rounds to 16 bits after each operator cannot tell kernels wrong that round at the end.
TEST_F(Verification, IsNoJudgeWhereTheReferenceOverflows) {
  const Module module = module_of(
      "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n"
      "  %0 = cast(%x, dtype=\"float16\");\n"
      "  %1 = divide(multiply(%0, %0), cast(%y, dtype=\"float16\"));\n"
      "  cast(%1, dtype=\"float32\")\n}\n");
  const auto of = [](float a, float b) { return Tensor::of<float>({2}, kFloat32, {a, b}); };
  const auto verified = [&](const Tensor& x, const Tensor& result) {
    Verifier verifier(module, 60);
    const std::vector<Tensor> inputs = {x, of(100, 1)};
    verifier.compare("main", inputs, std::vector{result});
    return verifier.finish();
  };
  EXPECT_FALSE(verified(of(3, 2), of(0.09F, 5)));  // nothing overflows
  EXPECT_EQ(value_of(verified(of(3, 2), of(0.09F, 4))).compared.size(), 1u);
  const VerifySummary summary = value_of(verified(of(300, 2), of(900, 4)));
  EXPECT_TRUE(summary.compared.empty());
  EXPECT_EQ(to_string(summary),
            "0 kernels and regions agree with the reference; not compared, because 16 bits "
            "overflow in the reference, and not in the result: main");
  // Both do: they agree.
  EXPECT_EQ(
      value_of(verified(of(300, 2), of(std::numeric_limits<float>::infinity(), 4))).compared.size(),
      1u);
}

TEST_F(Verification, CountsWhatOverflowsAgainstFloat32) {
  const auto of = [](float second) { return Tensor::of<float>({2}, kFloat32, {1, second}); };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(output_error("y", of(infinity), of(7)).overflown, 1);
  EXPECT_EQ(output_error("y", of(infinity), of(infinity)).overflown, 0);
  const OutputError none = output_error("y", of(6), of(7));
  EXPECT_EQ(none.overflown, 0);
  EXPECT_EQ(none.elements, 2);
  EXPECT_EQ(none.largest, 1);
}

TEST_F(Verification, AllowsAStepWhereFloatsAreRounded) {
  for (const bool is_rounded : {true, false}) {
    const Module module =
        module_of(is_rounded ? "def @main(%x: Tensor[(2), float32]) { cast(%x, dtype=\"int8\") }\n"
                             : "def @main(%x: Tensor[(2), int32]) { cast(%x, dtype=\"int8\") }\n");
    const std::vector<Tensor> inputs = {is_rounded ? Tensor::of<float>({2}, kFloat32, {1, 2})
                                                   : Tensor::of<std::int32_t>({2}, kInt32, {1, 2})};
    const auto agrees = [&](std::int8_t second) {
      Verifier verifier(module, 60);
      const std::vector<Tensor> outputs = {Tensor::of<std::int8_t>({2}, kInt8, {1, second})};
      verifier.compare("main", inputs, outputs);
      return verifier.finish().has_value();
    };
    EXPECT_TRUE(agrees(2));
    EXPECT_EQ(agrees(3), is_rounded);
    EXPECT_FALSE(agrees(4));
  }
}

TEST_F(Verification, SaysWhatItDidNotCompare) {
  const Module module = module_of(
      "def @main(%x: Tensor[(2), float32]) { exp(%x) }\n"
      "def @sized(%x: Tensor[(?n), float32]) { exp(%x) }\n");
  Verifier hurried(module, 0);
  const std::vector<Tensor> inputs = {Tensor::of<float>({2}, kFloat32, {0, 0})};
  hurried.compare("main", inputs, inputs);
  hurried.compare("sized", {}, {});
  hurried.compare("copy", inputs, inputs);
  EXPECT_EQ(to_string(value_of(hurried.finish())),
            "0 kernels and regions agree with the reference; no time for main; not compared, "
            "because they read sizes that only a run knows: sized; not compared, because they "
            "compute no operator of the model: copy");
}

TEST(OutputErrors, AreDifferencesOrOverflows) {
  const auto tensor = [](float second) { return Tensor::of<float>({2}, kFloat32, {4, second}); };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_string({output_error("y", tensor(3.5f), tensor(3)),
                       output_error("z", tensor(infinity), tensor(3))}),
            "`y` differs by 0.5, 0.125 of its largest magnitude; `z` overflows in 1 of 2 elements");
}

}  // namespace
}  // namespace tessera::driver
