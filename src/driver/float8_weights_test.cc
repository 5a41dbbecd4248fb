// SPDX-License-Identifier: Apache-2.0
// `--weights fp8` and `--calibrate`: which products become those of floats of eight bits, by which
// scales, and how far results are from the model's. On a CPU they are computed in float32.
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "constants/npy.h"
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "ops/evaluation/compare.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class Float8Weights : public testing::ModelTest {
 protected:
  // Two products, the second of numbers that are not negative.
  CompileOptions model(const std::vector<std::string>& rules, int terms = 64) {
    CompileOptions o =
        options(fmt::format("def @main(%x: Tensor[(?, {0}), float32]) {{\n"
                            "  nn.dense(nn.relu(nn.dense(%x, meta[relay.Constant][0], units=96)), "
                            "meta[relay.Constant][1], units=48)\n}}\n"
                            "#[metadata in \"w.npz\"]\n",
                            terms));
    EXPECT_TRUE(
        write_npz(folder_.file("w.npz"), {{"0", exec::random_input({"", kFloat32, {96, terms}}, 1)},
                                          {"1", exec::random_input({"", kFloat32, {48, 96}}, 2)}}));
    o.weights = {"@first=fp8", "@last=fp8", "@small=fp8"};
    o.weights.insert(o.weights.end(), rules.begin(), rules.end());
    return o;
  }

  static std::string forms(const CompileReport& report) {
    std::string text;
    for (const passes::WeightRow& row : report.weights) {
      text += fmt::format("{} {}\n", row.matrix, row.stored_as());
    }
    return text;
  }

  // Of the library, from the same model without rules.
  double error_of(const CompileOptions& o) {
    CompileOptions plain = o;
    plain.weights.clear();
    plain.calibrate.clear();
    plain.output = new_library();
    value_of(compile(plain));
    const std::vector<Tensor> x = {exec::random_input({"", kFloat32, {5, 64}}, 3)};
    const auto run = [&](const std::string& path) {
      return value_of(value_of(exec::Session::open_library(path, {}))->run(x)).at(0);
    };
    return ops::relative_difference(run(o.output), run(plain.output));
  }

  std::string inputs_folder(float factor) {
    std::filesystem::create_directories(folder_.file("inputs"));
    for (int i = 0; i < 3; ++i) {
      const Tensor x = exec::random_input({"", kFloat32, {i + 2, 64}}, static_cast<unsigned>(i));
      std::vector<double> scaled;
      for (const float v : x.as<float>()) scaled.push_back(v * factor);
      EXPECT_TRUE(write_npz(folder_.file(fmt::format("inputs/{}.npz", i)),
                            {{"x", tensor_from_doubles({i + 2, 64}, kFloat32, scaled)}}));
    }
    return folder_.file("inputs");
  }

  void expect_error(const CompileOptions& o, Code code, const std::string& finding) {
    const auto compiled = compile(o);
    ASSERT_FALSE(compiled);
    const Diagnostic& d = compiled.error().list.front();
    EXPECT_EQ(d.code, code) << d.message;
    EXPECT_NE(d.message.find(finding), std::string::npos) << d.message;
    EXPECT_FALSE(d.remedy.empty());
  }
};

TEST_F(Float8Weights, DataHaveAScaleForEachRow) {
  const CompileOptions o = model({});
  const CompileReport report = value_of(compile(o));
  EXPECT_EQ(forms(report), "[96, 64] fp8:channel,dynamic\n[48, 96] fp8:channel,dynamic\n");
  EXPECT_EQ(report.weights.at(0).bytes, 96U * 64 + 4 * 96);
  for (const passes::WeightRow& row : report.weights) {
    EXPECT_GT(row.error, 0.005);
    EXPECT_LT(row.error, 0.05);
  }
  const double error = error_of(o);
  EXPECT_GT(error, 1e-3);
  EXPECT_LT(error, 0.08);
}

TEST_F(Float8Weights, ScalesAreCalibrated) {
  CompileOptions o = model({"@last=fp8:tensor"});
  o.calibrate = inputs_folder(1);
  const CompileReport report = value_of(compile(o));
  EXPECT_EQ(forms(report), "[96, 64] fp8:channel,static\n[48, 96] fp8:tensor,static\n");
  const double error = error_of(o);
  EXPECT_GT(error, 1e-3);
  EXPECT_LT(error, 0.1);
  // Of data a hundred times smaller nothing larger can be told.
  o.calibrate = inputs_folder(0.01F);
  o.output = new_library();
  value_of(compile(o));
  EXPECT_GT(error_of(o), 0.5);
}

TEST_F(Float8Weights, LooseFilesAreOneRun) {
  CompileOptions o = model({});
  std::filesystem::create_directories(folder_.file("loose"));
  EXPECT_TRUE(
      write_npy(folder_.file("loose/x.npy"), exec::random_input({"", kFloat32, {7, 64}}, 5)));
  o.calibrate = folder_.file("loose");
  EXPECT_EQ(forms(value_of(compile(o))),
            "[96, 64] fp8:channel,static\n[48, 96] fp8:channel,static\n");
}

TEST_F(Float8Weights, SumsThatNoKernelTakesStay) {
  const CompileReport report = value_of(compile(model({}, 40)));
  EXPECT_EQ(forms(report), "[96, 40] as it was\n[48, 96] fp8:channel,dynamic\n");
  EXPECT_NE(report.weights.at(0).reason.find("a multiple of 16 terms"), std::string::npos);
}

TEST_F(Float8Weights, CalibrationNeedsInputs) {
  CompileOptions o = model({"@first=fp8:static"});
  expect_error(o, Code::kBadOption, "needs inputs");
  o.calibrate = folder_.file("nowhere");
  expect_error(o, Code::kFileNotFound, "nowhere");
  std::filesystem::create_directories(folder_.file("empty"));
  o.calibrate = folder_.file("empty");
  expect_error(o, Code::kBadInput, "has no .npz and no .npy");
  EXPECT_TRUE(write_npy(folder_.file("empty/y.npy"), Tensor::scalar(1.F, kFloat32)));
  expect_error(o, Code::kBadInput, "input `x` is not given");
  EXPECT_TRUE(write_npy(folder_.file("empty/x.npy"), Tensor::scalar(1.F, kFloat32)));
  expect_error(o, Code::kBadInput, "which it does not take");
}

TEST_F(Float8Weights, ScalesThatAreNone) {
  CompileOptions o = model({});
  o.calibrate = inputs_folder(0);
  expect_error(o, Code::kBadInput, "is zero in all inputs");
  o.calibrate = inputs_folder(NAN);
  expect_error(o, Code::kBadInput, "is not finite");
}

}  // namespace
}  // namespace tessera::driver
