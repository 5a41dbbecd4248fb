// SPDX-License-Identifier: Apache-2.0
// 16 bits where nothing has kernels of them: models of such types, and --precision.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/placement.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "link/library_file.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::driver {
namespace {

using testing::value_of;
using Types = std::vector<DType>;

class SixteenBits : public testing::ModelTest {
 protected:
  // A product with what is around it; the number of rows is open.
  CompileOptions model_of(DType dtype) {
    return options(fmt::format(
        "def @main(%x: Tensor[(?n, 4), {0}], %w: Tensor[(6, 4), {0}], %b: Tensor[(6), {0}]) {{\n"
        "  %0 = nn.relu(nn.bias_add(nn.dense(%x, %w, units=6), %b));\n"
        "  (nn.softmax(reshape(%0, newshape=[-1, 2, 3])), argmax(%0, axis=[1]))\n}}\n",
        to_string(dtype)));
  }

  // The line that a stage ended with.
  static std::string line_of(const CompileReport& report, const std::string& stage) {
    const auto found = std::ranges::find(report.stages, stage, &StageTime::name);
    return found == report.stages.end() ? "" : found->result;
  }

  static std::vector<Tensor> inputs_of(const exec::Session& session, std::int64_t n) {
    std::vector<Tensor> inputs;
    for (exec::PortInfo port : session.inputs()) {
      for (std::int64_t& size : port.shape) size = size < 0 ? n : size;
      inputs.push_back(exec::random_input(port, inputs.size()));
    }
    return inputs;
  }
};

Types types_for(const std::vector<std::string>& targets) {
  CompileOptions options;
  for (const std::string& t : targets) options.targets.emplace_back(t);
  return widened_types(options);
}

TEST(WidenedTypes, AreThoseThatNothingHasKernelsOf) {
  EXPECT_EQ(types_for({"cpu"}), (Types{kFloat16, kBFloat16}));
  EXPECT_EQ(types_for({"cpu", "onednn", "blas", "ccompiler"}), (Types{kFloat16, kBFloat16}));
  EXPECT_EQ(types_for({}), (Types{kFloat16, kBFloat16}));
  EXPECT_EQ(types_for({"cuda"}), Types());
  EXPECT_EQ(types_for({"cuda", "cutlass"}), Types());
  EXPECT_EQ(types_for({"cuda", "cpu", "onednn"}), Types());  // the CPU is the host
}

TEST_F(SixteenBits, AreComputedInFloat32AndKeptAtTheBorders) {
  for (const DType dtype : {kFloat16, kBFloat16}) {
    CompileOptions o = model_of(dtype);
    o.output = folder_.file(to_string(dtype) + ".so");
    o.targets.emplace_back("blas");
    o.verify = true;
    const CompileReport report = value_of(compile(o, {}));
    EXPECT_EQ(line_of(report, "widening"),
              fmt::format("5 operators in float32, as nothing on this cpu has kernels of {}; "
                          "constants take 0 B more",
                          to_string(dtype)));
    EXPECT_TRUE(report.warnings.empty());
    const auto session = value_of(exec::Session::open_library(o.output, {}));
    EXPECT_EQ(session->inputs()[0].dtype, dtype);
    EXPECT_EQ(session->outputs()[0].dtype, dtype);
    for (const std::int64_t n : {5, 1}) {
      const std::vector<Tensor> inputs = inputs_of(*session, n);
      const std::vector<DimBinding> dims = {{"n", n, {}}};
      const Module module = value_of(load_model(o.model, dims));
      const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
      const auto found = value_of(session->run(inputs));
      EXPECT_LE(ops::relative_difference(found[0], wanted[0]), ops::graph_tolerance(dtype));
      EXPECT_TRUE(found[0].type() == wanted[0].type());
      EXPECT_TRUE(found[1].type() == wanted[1].type());
    }
  }
}

TEST_F(SixteenBits, GoToTheBackEndsOfFloat32) {
  CompileOptions o = model_of(kFloat16);
  o.targets.emplace_back("onednn");
  if (backends::find_backend("onednn")->available(o.targets[1])) GTEST_SKIP() << "no onednn here";
  o.require = {"onednn"};
  value_of(compile(o, {}));
}

TEST_F(SixteenBits, OfAModelOfFloat32AreNotMade) {
  CompileOptions o = model_of(kFloat32);
  o.dims = {{"n", 4, {}}};
  o.verify = true;
  const CompileReport full = value_of(compile(o, {}));
  EXPECT_FALSE(full.precision);
  EXPECT_EQ(line_of(full, "widening"), "");
  for (const DType low : {kFloat16, kBFloat16}) {
    o.precision = low;
    const CompileReport report = value_of(compile(o, {}));
    const std::string why = "nothing on this cpu has kernels of " + to_string(low);
    EXPECT_EQ(line_of(report, "precision"), "all in float32, as " + why);
    ASSERT_TRUE(report.precision);
    EXPECT_EQ(report.precision->low, 0);
    for (const auto& [op, reason, count] : report.precision->kept) EXPECT_EQ(reason, why) << op;
    EXPECT_EQ(report.weight_bytes, full.weight_bytes);
    ASSERT_EQ(report.errors.size(), 2u);  // against the model in float32
    EXPECT_LE(report.errors[0].relative, ops::graph_tolerance(kFloat32));
    const std::string metadata = value_of(link::read_library_file(o.output)).metadata;
    EXPECT_NE(metadata.find("\"precision\":\"" + to_string(low) + "\""), std::string::npos);
    EXPECT_NE(metadata.find("\"kept_in_float32\":[{\"name\":"), std::string::npos) << metadata;
  }
}

// What overflowed between two kernels has room now.
TEST_F(SixteenBits, DoNotOverflowInBetween) {
  CompileOptions o = options(
      "def @main(%x: Tensor[(2), float16]) {\n"
      "  %0 = multiply(%x, %x);\n  %1 = cumsum(%0, axis=0);\n  sqrt(%1)\n}\n");
  value_of(compile(o, {}));
  const auto session = value_of(exec::Session::open_library(o.output, {}));
  const std::vector<double> large = {300, 400};
  const auto found = value_of(session->run(std::vector{tensor_from_doubles({2}, kFloat16, large)}));
  EXPECT_EQ(element_as_double(found[0], 0), 300);
  EXPECT_EQ(element_as_double(found[0], 1), 500);
}

// Both executors, twice.
TEST_F(SixteenBits, CastsOfTheModelRound) {
  CompileOptions o = options(
      "def @main(%x: Tensor[(1), float32]) {\n"
      "  cast(cast(%x, dtype=\"float16\"), dtype=\"float32\")\n}\n");
  o.targets.emplace_back("onednn");
  value_of(compile(o, {}));
  const std::vector<Tensor> input = {Tensor::of<float>({1}, kFloat32, {2049})};
  for (const auto& session :
       {value_of(exec::Session::open_library(o.output, {})), value_of(prepare_in_process(o, {}))}) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(element_as_double(value_of(session->run(input))[0], 0), 2048);
    }
  }
}

}  // namespace
}  // namespace tessera::driver
