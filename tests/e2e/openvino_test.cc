// SPDX-License-Identifier: Apache-2.0
// A library whose regions OpenVINO computes, as users have it: sent elsewhere with what it needs,
// made twice, and chosen by measuring.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "support/files.h"
#include "support/testing/requirement.h"
#include "whole_model.h"

namespace tessera::e2e {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kModel = R"(#[version = "0.0.5"]
#[symbol batch = 1..8 : 2]
def @main(%x: Tensor[(?batch, 3, 9, 9), float32], %w: Tensor[(8, 3, 3, 3), float32], %b: Tensor[(8), float32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1]), %b));
  %1 = nn.max_pool2d(%0, pool_size=[3, 3], strides=[2, 2]);
  %2 = cumsum(%1, axis=1);
  nn.softmax(reshape(nn.global_avg_pool2d(add(%1, %2)), newshape=[0, 8]))
}
)";

class Openvino : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!::tessera::testing::is_there("openvino", command_.has_backend("openvino"))) {
      GTEST_SKIP() << "OpenVINO is not there";
    }
    command_.write("m.relay", kModel);
  }
  ProcessResult run(const std::vector<std::string>& arguments) {
    const ProcessResult result = command_.run(arguments);
    EXPECT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
    return result;
  }
  Command command_;
};

TEST_F(Openvino, RunsElsewhereWithWhatIsBundled) {
  run({"run", "m.relay", "--partition", "none", "--dim", "batch=3", "--outputs", "native"});
  fs::create_directories(command_.file("made"));
  run({"compile", "m.relay", "--dim", "batch=3", "--backends", "openvino", "--bundle", "-o",
       "made/m.so"});
  Command elsewhere;
  fs::rename(command_.file("made"), elsewhere.file("sent"));
  elsewhere.unset_all();
  const std::string library = elsewhere.file("sent/m.so");
  const ProcessResult ran = elsewhere.run({"run", library, "--outputs", "out"});
  ASSERT_TRUE(ran.ok()) << ran.err;
  EXPECT_LE(largest_difference(elsewhere.file("out"), command_.file("native")), 1e-5);
  fs::remove(elsewhere.file("sent/libopenvino_intel_cpu_plugin.so"));
  const ProcessResult alone = elsewhere.run({"run", library});
  EXPECT_EQ(alone.exit_status, 1);
  for (const char* word : {"E0502", "libopenvino_intel_cpu_plugin.so", "openvino"}) {
    EXPECT_NE(alone.err.find(word), std::string::npos) << word << " in\n" << alone.err;
  }
}

TEST_F(Openvino, ItsLibrariesDoNotGoInside) {
  const ProcessResult refused = command_.run(
      {"compile", "m.relay", "--backends", "openvino", "--bundle=inside", "-o", "m.so"});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_NE(refused.err.find("look for files beside themselves"), std::string::npos) << refused.err;
}

TEST_F(Openvino, EqualModelsAreEqualLibraries) {
  for (const char* folder : {"one", "two"}) {
    fs::create_directories(command_.file(folder));
    run({"compile", "m.relay", "--backends", "openvino", "-o", std::string(folder) + "/m.so"});
  }
  EXPECT_TRUE(*read_file(command_.file("one/m.so")) == *read_file(command_.file("two/m.so")));
}

// Its plan races, and its regions alone are measured.
TEST_F(Openvino, IsOneOfThePlansThatCollageCompares) {
  const Json report = Json::parse(
      run({"compile", "m.relay", "--backends", "openvino,blas", "--partition", "collage",
           "--records", "costs.sqlite", "--threads", "1", "--json", "-o", "m.so"})
          .out);
  const std::string plans = report["collage"]["plans"].dump();
  EXPECT_NE(plans.find("openvino alone"), std::string::npos) << plans;
  const Json records = Json::parse(run({"records", "costs.sqlite", "--json"}).out);
  int measured = 0;
  for (const Json& record : records) {
    if (record["backend"] == "collage openvino") ++measured;
  }
  EXPECT_EQ(measured, 2) << records.dump();
}

}  // namespace
}  // namespace tessera::e2e
