// SPDX-License-Identifier: Apache-2.0
// Measured placement as users meet it: compiled, explained, with costs that are edited.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "import/testing/model.h"

namespace tessera::e2e {
namespace {

using nlohmann::json;

class CollageCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    command_.share_cache();
    import::TestModel m;
    m.input("x", {64, 64});
    m.node("Abs", {"x"}, {"a"}, "/first/Abs");
    m.node("MatMul", {"a", "x"}, {"b"}, "/product/MatMul");
    m.node("Sqrt", {"b"}, {"c"}, "/last/Sqrt");
    m.output("c");
    command_.write("m.onnx", m.proto.SerializeAsString());
  }
  ProcessResult compile(const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"compile",     "m.onnx",    "-o",        "m.so",
                                     "--backends",  "ccompiler", "--records", "costs.sqlite",
                                     "--partition", "collage",   "--threads", "1"};
    line.insert(line.end(), more.begin(), more.end());
    return command_.run(line);
  }
  static json plan_of(const json& report, bool written) {
    for (const json& plan : report["collage"]["plans"]) {
      if (plan["chosen"] == written) return plan;
    }
    return {};
  }
  Command command_;
};

TEST_F(CollageCommand, TellsWhatItChoseAndWhatElseWasMeasured) {
  const ProcessResult compiled = compile({"--json", "--report", "r.html"});
  ASSERT_TRUE(compiled.ok()) << compiled.err;
  EXPECT_EQ(compiled.err, "");
  const json report = json::parse(compiled.out);
  EXPECT_GT(report["collage"]["measured"], 2);
  EXPECT_GT(plan_of(report, true)["time_us"], 0);
  EXPECT_NE(read_file(command_.file("r.html"))->find("Measured placement"), std::string::npos);

  const ProcessResult node = command_.run({"inspect", "m.so", "--node", "/last/Sqrt"});
  ASSERT_TRUE(node.ok()) << node.err;
  EXPECT_NE(node.out.find("ccompiler"), std::string::npos) << node.out;
  EXPECT_NE(node.out.find(" us"), std::string::npos) << node.out;
  const ProcessResult none = command_.run({"inspect", "m.so", "--node", "/no/such"});
  EXPECT_EQ(none.exit_status, 1);
  EXPECT_NE(none.err.find("`/no/such`"), std::string::npos) << none.err;
}

TEST_F(CollageCommand, CostsAreTextThatCanBeEditedAndReplayed) {
  ASSERT_TRUE(compile({}).ok());
  const ProcessResult printed = command_.run({"records", "costs.sqlite", "--json"});
  ASSERT_TRUE(printed.ok()) << printed.err;
  json costs = json::parse(printed.out);
  // Generated code is said to crash on what the back end can do, so the search takes that.
  for (json& cost : costs) {
    const bool is_product = cost["workload"].get<std::string>().find("matmul") != std::string::npos;
    if (cost["backend"] != "collage native" || is_product) continue;
    cost["time_us"] = 1e6;
  }
  command_.write("edited.json", costs.dump());
  const ProcessResult taken = command_.run({"records", "costs.sqlite", "--import", "edited.json"});
  ASSERT_TRUE(taken.ok()) << taken.err;
  const ProcessResult again = compile({"--json"});
  ASSERT_TRUE(again.ok()) << again.err;
  std::string who;
  const json report = json::parse(again.out);
  for (const json& region : report["collage"]["regions"]) {
    who += region["chosen"]["backend"].get<std::string>() + " ";
  }
  EXPECT_NE(who.find("ccompiler"), std::string::npos) << who;
}

TEST_F(CollageCommand, BadCostFilesAreRefusedAndNothingIsTaken) {
  ASSERT_TRUE(compile({}).ok());
  const std::string before = command_.run({"records", "costs.sqlite", "--json"}).out;
  const std::string entry =
      R"("backend":"b","version":"","device":"d","toolchain":"t","workload":"w",)"
      R"("configuration":"c")";
  for (const std::string& text :
       {std::string("{"), std::string("[1]"), "[{" + entry + "}]",
        "[{" + entry + R"(,"time_us":0,"spread_us":0,"failure":""}])",
        "[{" + entry + R"(,"time_us":1,"spread_us":0,"failure":"it crashed"}])",
        "[{" + entry + R"(,"time_us":"1","spread_us":0,"failure":""}])"}) {
    command_.write("bad.json", text);
    const ProcessResult ran = command_.run({"records", "costs.sqlite", "--import", "bad.json"});
    EXPECT_EQ(ran.exit_status, 1) << text;
    EXPECT_NE(ran.err.find("is no list of measurements"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(command_.run({"records", "costs.sqlite", "--json"}).out, before);
}

TEST_F(CollageCommand, SaysWhatItLacksWhereNothingMayBeMeasured) {
  const ProcessResult ran = compile({"--no-measure"});
  EXPECT_EQ(ran.exit_status, 1);
  EXPECT_NE(ran.err.find("have no record of what they cost here"), std::string::npos) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(command_.file("m.so")));
  const ProcessResult budget = command_.run({"compile", "m.onnx", "-o", "m.so", "--budget", "5"});
  EXPECT_EQ(budget.exit_status, 1);
  EXPECT_NE(budget.err.find("--partition collage"), std::string::npos) << budget.err;
}

}  // namespace
}  // namespace tessera::e2e
