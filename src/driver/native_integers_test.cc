// SPDX-License-Identifier: Apache-2.0
// Quantised products and convolutions without back ends: generated code multiplies integers, and
// what it computes in floats is listed.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/load_model.h"
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

class NativeIntegers : public testing::ModelTest {
 protected:
  // A convolution with a border, and a sum with another image; `channels` of the image, its other
  // sizes as text.
  CompileOptions model_of(std::int64_t channels, const std::string& batch = "1",
                          const std::string& rows = "19") {
    const Tensor w = exec::random_input({"w", kInt8, {20, channels, 3, 3}}, 3);
    std::vector<double> scales;
    for (int i = 0; i < 20; ++i) scales.push_back(0.01 + 0.001 * i);
    const Tensor s = tensor_from_doubles({20, 1, 1, 1}, kFloat32, scales);
    CompileOptions o = options(
        fmt::format("def @main(%x: Tensor[({2}, {0}, {3}, 21), uint8],"
                    " %r: Tensor[({2}, {0}, {3}, 21), float32]) {{\n"
                    "  %0 = multiply(subtract(cast(%x, dtype=\"float32\"), 117f), 0.02f);\n"
                    "  %1 = multiply(cast(meta[relay.Constant][0], dtype=\"float32\"),"
                    " meta[relay.Constant][1]);\n"
                    "  %2 = nn.relu(nn.conv2d(%0, %1, padding=[1, 2, 1, 2], strides=[1, 2]));\n"
                    "  (%2, add(%0, %r))\n}}\n#[metadata]\n{1}\n",
                    channels, relay::metadata_json({w, s}), batch, rows));
    o.partition = Partition::kNone;
    o.targets = {*parse_target("cpu -mcpu=x86-64-v3")};
    o.dump_dir = folder_.file("dump");
    return o;
  }

  bool has_pairs(const CompileOptions& o) const {
    return read_file(o.dump_dir + "/kernels_0.cc")->find("tk::add_products<") != std::string::npos;
  }

  // Against the reference, and twice the same bits.
  static void expect_right(const CompileOptions& o, const std::vector<std::int64_t>& shape) {
    SCOPED_TRACE(fmt::format("{} images of {} rows", shape[0], shape[2]));
    const auto session = value_of(exec::Session::open_library(o.output, {}));
    std::vector<Tensor> inputs;
    for (const auto& [name, dtype] : {std::pair("x", kUInt8), std::pair("r", kFloat32)}) {
      inputs.push_back(exec::random_input({name, dtype, shape}, inputs.size()));
    }
    const Module module = value_of(load_model(o.model, {}));
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    const auto found = value_of(session->run(inputs));
    EXPECT_LE(ops::relative_difference(found[0], wanted[0]), ops::graph_tolerance(kFloat32));
    EXPECT_TRUE(value_of(session->run(inputs)) == found) << "other bits";
  }

  static std::vector<std::string> listed(const CompileReport& report) {
    std::vector<std::string> rows;
    for (const auto& [op, reason, count] : report.float_operators) {
      rows.push_back(fmt::format("{} {}, {}", count, op, reason));
    }
    return rows;
  }
};

const std::string kAdd = "1 add, it is computed on dequantised numbers";

TEST_F(NativeIntegers, AreMultipliedByPairs) {
  if (tessera_cpu_has("avx2") != 1) GTEST_SKIP() << "needs AVX2";
  const CompileOptions o = model_of(6);
  const CompileReport report = value_of(compile(o, {}));
  EXPECT_TRUE(has_pairs(o));
  EXPECT_EQ(listed(report), std::vector<std::string>{kAdd});
  const std::string metadata = value_of(link::read_library_file(o.output)).metadata;
  EXPECT_NE(metadata.find("\"float_operators\":[{\"operator\":\"add\""), std::string::npos)
      << metadata;
  expect_right(o, {1, 6, 19, 21});
}

TEST_F(NativeIntegers, HaveOpenSizes) {
  if (tessera_cpu_has("avx2") != 1) GTEST_SKIP() << "needs AVX2";
  const CompileOptions o = model_of(6, "?n", "?h");
  const CompileReport report = value_of(compile(o, {}));
  EXPECT_TRUE(has_pairs(o));
  EXPECT_EQ(listed(report), std::vector<std::string>{kAdd});
  for (const std::int64_t batch : {1, 3}) {
    for (const std::int64_t rows : {1, 2, 19, 64}) expect_right(o, {batch, 6, rows, 21});
  }
}

TEST_F(NativeIntegers, AreNoneOfAnOddNumberOfChannels) {
  if (tessera_cpu_has("avx2") != 1) GTEST_SKIP() << "needs AVX2";
  const CompileOptions o = model_of(5);
  const CompileReport report = value_of(compile(o, {}));
  EXPECT_FALSE(has_pairs(o));
  EXPECT_EQ(listed(report),
            (std::vector<std::string>{kAdd, "1 nn.conv2d, the number of its channels is odd"}));
}

TEST_F(NativeIntegers, AreNoneOfACpuWithoutPairs) {
  CompileOptions o = model_of(6);
  o.targets = {*parse_target("cpu -mcpu=x86-64-v2")};
  const CompileReport report = value_of(compile(o, {}));
  EXPECT_FALSE(has_pairs(o));
  EXPECT_EQ(listed(report),
            (std::vector<std::string>{
                kAdd, "1 nn.conv2d, nothing here multiplies integers of its kind"}));
}

// Where a back end is asked that takes floats, it has them.
TEST_F(NativeIntegers, AreNoneWhereABackEndMultipliesFloats) {
  CompileOptions o = model_of(6);
  o.partition = Partition::kGreedy;
  o.targets.emplace_back("ccompiler");
  const CompileReport report = value_of(compile(o, {}));
  EXPECT_EQ(listed(report).back(), "1 nn.conv2d, nothing here multiplies integers of its kind");
}

}  // namespace
}  // namespace tessera::driver
