// SPDX-License-Identifier: Apache-2.0
// 16 bits where nothing has kernels of them: models of such types, and --precision.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/compile.h"
#include "driver/dimensions.h"
#include "driver/load_model.h"
#include "driver/placement.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "link/library_file.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "relay/text/metadata.h"
#include "runtime/program.h"

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

  // The first result for a size is that of the model, as near as bfloat16 is, and by `again` the
  // same in every bit.
  static void expect_right(const CompileOptions& o, std::int64_t n, exec::Session& session,
                           exec::Session& again) {
    const std::vector<Tensor> inputs = inputs_of(session, n);
    const std::vector<DimBinding> dims = {{"n", n, {}}};
    const Module module = value_of(load_model(o.model, dims));
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    const auto found = value_of(session.run(inputs));
    EXPECT_LE(ops::relative_difference(found[0], wanted[0]), ops::graph_tolerance(kBFloat16)) << n;
    EXPECT_TRUE(value_of(again.run(inputs))[0] == found[0]) << n;
  }
};

Types types_for(const std::vector<std::string>& targets) {
  CompileOptions options;
  for (const std::string& t : targets) options.targets.push_back(*parse_target(t));
  return widened_types(options);
}

// What onednn has kernels of depends on the CPU.
Types types_of_onednn(const char* cpu) {
  const byoc::Backend& onednn = *backends::find_backend("onednn");
  const Target target = Target("onednn").with_host(*parse_target(cpu));
  return onednn.available(target) ? Types() : onednn.capabilities(target).types_of_16_bits;
}

bool has_products() { return tessera_cpu_has("avx512bf16") == 1; }

TEST(WidenedTypes, AreThoseThatNothingHasKernelsOf) {
  const Types alone = has_products() ? Types{kFloat16} : Types{kFloat16, kBFloat16};
  EXPECT_EQ(types_for({"cpu"}), alone) << "products are generated code's";
  EXPECT_EQ(types_for({"cpu -mcpu=x86-64-v4,znver4"}), (Types{kFloat16, kBFloat16}));
  EXPECT_EQ(types_for({"cpu -mcpu=znver4,znver5"}), Types{kFloat16});
  EXPECT_EQ(types_for({"cpu", "blas", "ccompiler"}), (Types{kFloat16, kBFloat16}));
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const auto is_in = [&](const Types& types) {
      return std::ranges::find(types, dtype) != types.end();
    };
    EXPECT_NE(is_in(types_for({"cpu", "onednn", "blas"})), is_in(types_of_onednn("cpu")));
  }
  EXPECT_EQ(types_for({}), alone);
  EXPECT_EQ(types_for({"cuda"}), Types());
  EXPECT_EQ(types_for({"cuda", "cutlass"}), Types());
  EXPECT_EQ(types_for({"cuda", "cpu", "onednn"}), Types());  // the CPU is the host
}

// The library is for the CPU of -mcpu, whatever this one can.
TEST(WidenedTypes, AreThoseOfTheCpuThatTheLibraryIsFor) {
  EXPECT_EQ(types_for({"cpu -mcpu=x86-64-v4", "onednn"}), (Types{kFloat16, kBFloat16}));
  const Types here = types_of_onednn("cpu");
  for (const char* cpu : {"cpu -mcpu=znver4", "cpu -mcpu=sapphirerapids"}) {
    for (const DType dtype : types_of_onednn(cpu)) {
      EXPECT_NE(std::ranges::find(here, dtype), here.end()) << cpu;
    }
  }
  const bool has_bfloat16 = std::ranges::find(here, kBFloat16) != here.end();
  EXPECT_EQ(types_of_onednn("cpu -mcpu=znver4"), has_bfloat16 ? Types{kBFloat16} : Types());
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
  o.targets = {*parse_target("cpu -mcpu=x86-64")};
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

// Without back ends: matrices are multiplied in pairs, with open sizes, too, and what is between is
// float32. The second product has an odd number of terms.
TEST_F(SixteenBits, AreThoseOfProductsInGeneratedCode) {
  if (!has_products()) GTEST_SKIP() << "needs AVX512_BF16";
  const Tensor v = exec::random_input({"v", kFloat32, {130, 161}}, 3);
  const Tensor w = exec::random_input({"w", kFloat32, {161, 64}}, 4);
  CompileOptions o = options(
      "def @main(%x: Tensor[(?n, 64), float32]) {\n"
      "  %0 = nn.gelu(nn.dense(%x, meta[relay.Constant][1], units=161));\n"
      "  add(nn.dense(%0, meta[relay.Constant][0], units=130), 1f)\n}\n#[metadata]\n" +
      relay::metadata_json({v, w}) + "\n");
  o.partition = Partition::kNone;
  o.precision = kBFloat16;
  o.dims = value_of(parse_dim_bindings(std::vector<std::string>{"n=0..200"}));
  o.dump_dir = folder_.file("dump");
  const CompileReport report = value_of(compile(o, {}));
  EXPECT_TRUE(line_of(report, "native").ends_with("has no kernels of bfloat16 but for products"));
  const char* products =
      tessera_cpu_has("amx-bf16") == 1 ? "tk::TileProduct<" : "tk::add_products<";
  EXPECT_NE(read_file(o.dump_dir + "/kernels_0.cc")->find(products), std::string::npos);
  const auto session = value_of(exec::Session::open_library(o.output, {}));
  const auto in_process = value_of(prepare_in_process(o, {}));
  for (const std::int64_t n : {13, 0, 1, 128, 12}) expect_right(o, n, *session, *in_process);
}

// Products go to the back end that has kernels of the type, and what it leaves is float32 between
// them: generated code has none.
TEST_F(SixteenBits, AreThoseOfABackEndThatHasKernels) {
  const Types types = types_of_onednn("cpu");
  if (std::ranges::find(types, kBFloat16) == types.end()) GTEST_SKIP() << "no bfloat16 here";
  CompileOptions o = options(
      "def @main(%x: Tensor[(?n, 16), float32], %w: Tensor[(16, 16), float32]) {\n"
      "  %0 = nn.dense(%x, %w, units=16);\n  %1 = multiply(add(%0, %0), sin(%0));\n"
      "  nn.relu(nn.dense(%1, %w, units=16))\n}\n");
  o.output = folder_.file("low.so");
  o.targets.emplace_back("onednn");
  o.precision = kBFloat16;
  o.require = {"onednn"};
  o.verify = true;
  o.dims = {{"n", 5, {}}};
  const CompileReport report = value_of(compile(o, {}));
  ASSERT_TRUE(report.precision);
  EXPECT_GE(report.precision->low, 3);
  EXPECT_EQ(line_of(report, "native"),
            "2 operators in float32, as code made for this cpu has no kernels of bfloat16");
  ASSERT_EQ(report.errors.size(), 1U);
  EXPECT_GT(report.errors[0].relative, ops::graph_tolerance(kFloat32));
  EXPECT_LE(report.errors[0].relative, ops::graph_tolerance(kBFloat16));
  o.targets[0] = *parse_target("cpu -mcpu=x86-64-v3");
  o.verify = false;
  EXPECT_EQ(line_of(value_of(compile(o, {})), "precision"),
            "all in float32, as nothing on this cpu has kernels of bfloat16");
}

// Sizes that only a run knows, nothing among them.
TEST_F(SixteenBits, OfABackEndTakeOpenSizes) {
  const Types types = types_of_onednn("cpu");
  if (std::ranges::find(types, kBFloat16) == types.end()) GTEST_SKIP() << "no bfloat16 here";
  CompileOptions o = options(
      "def @main(%x: Tensor[(?n, 3, 19), float32], %w: Tensor[(19, 19), float32]) {\n"
      "  %0 = nn.gelu(nn.dense(%x, %w, units=19));\n"
      "  %1 = nn.softmax(nn.batch_matmul(%0, %x, transpose_b=True));\n"
      "  add(nn.batch_matmul(%1, %x), %x)\n}\n");
  o.targets.emplace_back("onednn");
  o.precision = kBFloat16;
  o.dims = value_of(parse_dim_bindings(std::vector<std::string>{"n=0..8"}));
  value_of(compile(o, {}));
  const auto session = value_of(exec::Session::open_library(o.output, {}));
  for (const std::int64_t n : {4, 0, 1, 0, 7}) expect_right(o, n, *session, *session);
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
