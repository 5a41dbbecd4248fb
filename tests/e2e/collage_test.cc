// SPDX-License-Identifier: Apache-2.0
// Measured placement as users meet it: compiled, explained, with costs that are edited.
#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "import/testing/model.h"
#include "link/cuda_compiler.h"
#include "support/testing/requirement.h"
#include "tune/record_store.h"

namespace tessera::e2e {
namespace {

using nlohmann::json;

std::size_t occurrences(const std::string& what, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// What a file has of the back ends that begin so, without a word of the command.
std::vector<tune::Record> records_of(const std::string& file, const std::string& back_ends) {
  if (!std::filesystem::exists(file)) return {};
  const auto store = tune::RecordStore::open_to_read(file);
  if (!store) return {};  // it is being made
  auto all = store->all();
  if (!all) throw std::runtime_error(render(all.error()));
  EXPECT_TRUE(all->damaged.empty());
  std::erase_if(all->list,
                [&](const tune::Record& r) { return !r.key.backend.starts_with(back_ends); });
  return std::move(all->list);
}

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
  static std::vector<std::string> line(const std::vector<std::string>& more) {
    std::vector<std::string> line = {"compile",     "m.onnx",    "-o",        "m.so",
                                     "--backends",  "ccompiler", "--records", "costs.sqlite",
                                     "--partition", "collage",   "--threads", "1"};
    line.insert(line.end(), more.begin(), more.end());
    return line;
  }
  ProcessResult compile(const std::vector<std::string>& more) const {
    return command_.run(line(more));
  }
  // A signal ended it, and nothing lies in the folder but what is whole.
  void expect_interrupted(const ProcessResult& ran, std::vector<std::string> names) const {
    EXPECT_EQ(ran.signal, SIGINT) << ran.err;
    names.insert(names.end(), {"cache", "m.onnx", "tmp"});
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names_in(command_.folder()), names);
    EXPECT_EQ(names_in(command_.file("tmp")), std::vector<std::string>());
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
  const std::string page = *read_file(command_.file("r.html"));
  EXPECT_EQ(occurrences("<h2 id=\"collage\">Measured placement</h2>", page), 1u);
  EXPECT_EQ(occurrences("<div class=\"graph\">", page), 1u);
  for (const json& row : report["placement"]) {
    const std::string told =
        row["backend"].get<std::string>() + ": " + row["region"].get<std::string>();
    EXPECT_EQ(occurrences("<g><title>" + told + "\n", page), 1u) << told;
  }

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

// The second run goes on where the first one was interrupted.
TEST_F(CollageCommand, CtrlCKeepsWhatIsMeasured) {
  command_.set("TESSERA_CACHE_DIR", command_.file("cache"));
  const std::string file = command_.file("costs.sqlite");
  // Costs of candidates: beside them there is what a run takes.
  const auto costs = [&] {
    auto all = records_of(file, "collage ");
    std::erase_if(all, [](const tune::Record& r) {
      return r.key.backend == "collage run" || r.key.backend == "collage plan";
    });
    return all;
  };
  const auto is_any = [&] { return !costs().empty(); };
  expect_interrupted(command_.run_until(is_any, SIGINT, line({"--evolve", "0"})), {"costs.sqlite"});
  const std::vector<tune::Record> before = costs();
  ASSERT_FALSE(before.empty());

  const ProcessResult again = compile({"--evolve", "0", "--json"});
  ASSERT_TRUE(again.ok()) << again.err;
  const json found = json::parse(again.out)["collage"];
  EXPECT_GT(found["measured"], 0);
  EXPECT_EQ(found["measured"].get<std::size_t>() + before.size(), found["programs"]);
  const std::vector<tune::Record> after = costs();
  EXPECT_EQ(after.size(), found["programs"]);
  for (const tune::Record& r : before) {
    EXPECT_NE(std::find(after.begin(), after.end(), r), after.end()) << r.key.workload;
  }
}

// The same of algorithms of generated code: two kinds of work.
TEST_F(CollageCommand, CtrlCKeepsWhatIsTuned) {
  import::TestModel m;
  m.input("x", {1, 16, 20, 20});
  m.floats("v", {16, 16, 3, 3}, std::vector<float>(16 * 16 * 9, 0.01F));
  m.floats("w", {32, 16, 3, 3}, std::vector<float>(32 * 16 * 9, 0.02F));
  import::set_ints(m.node("Conv", {"x", "v"}, {"y"}), "pads", {1, 1, 1, 1});
  import::set_ints(m.node("Conv", {"y", "w"}, {"z"}), "pads", {1, 1, 1, 1});
  m.output("z");
  command_.set("TESSERA_CACHE_DIR", command_.file("cache"));
  command_.write("m.onnx", m.proto.SerializeAsString());
  const std::vector<std::string> tune = {"tune",      "m.onnx", "--partition", "none",
                                         "--records", "r.db",   "--json"};
  constexpr std::size_t kAlgorithms = 3;
  const auto records = [&] { return records_of(command_.file("r.db"), "native"); };
  const auto is_one_done = [&] { return records().size() >= kAlgorithms; };
  expect_interrupted(command_.run_until(is_one_done, SIGINT, tune), {"r.db"});
  const std::vector<tune::Record> before = records();
  ASSERT_EQ(before.size(), kAlgorithms);

  const ProcessResult again = command_.run(tune);
  ASSERT_TRUE(again.ok()) << again.err;
  std::size_t measured = 0, known = 0;
  const json report = json::parse(again.out);
  for (const json& row : report["tuned"]) {
    measured += row["measured"].get<std::size_t>();
    known += row["known"].get<std::size_t>();
  }
  EXPECT_EQ(known, kAlgorithms);
  EXPECT_EQ(measured, kAlgorithms);
  const std::vector<tune::Record> after = records();
  EXPECT_EQ(after.size(), 2 * kAlgorithms);
  for (const tune::Record& r : before) {
    EXPECT_NE(std::find(after.begin(), after.end(), r), after.end()) << r.key.workload;
  }
}

// Costs of a GPU that is elsewhere, as text that somebody wrote.
TEST_F(CollageCommand, TakesTheGpuOfTheRecordsWhereThereIsNone) {
  if (!tessera::testing::is_there("nvcc", link::find_cuda_compiler().has_value())) {
    GTEST_SKIP() << "there is no nvcc";
  }
  command_.set("CUDA_VISIBLE_DEVICES", "-1");
  const auto compiled_with = [&](const std::vector<std::string>& devices) {
    json costs = json::array();
    for (const std::string& device : devices) {
      costs.push_back({{"backend", "collage native"},
                       {"version", ""},
                       {"device", device},
                       {"toolchain", "nvcc"},
                       {"workload", "abs"},
                       {"time_us", 1.5},
                       {"configuration", "collage"},
                       {"spread_us", 0.1},
                       {"failure", ""}});
    }
    command_.write("costs.json", costs.dump());
    std::filesystem::remove(command_.file("costs.sqlite"));
    EXPECT_TRUE(command_.run({"records", "costs.sqlite", "--import", "costs.json"}).ok());
    const ProcessResult ran =
        command_.run({"compile", "m.onnx", "-o", "m.so", "--target", "cuda -arch=sm_90a",
                      "--partition", "collage", "--records", "costs.sqlite", "--no-measure"});
    EXPECT_EQ(ran.exit_status, 1);
    return ran.err;
  };
  const std::string one = "sm_90a 132 NVIDIA H200", other = "sm_90a 114 NVIDIA H100 PCIe";
  const auto expect_told = [&](const std::vector<std::string>& devices, const std::string& what) {
    const std::string told = compiled_with(devices);
    EXPECT_NE(told.find(what), std::string::npos) << told;
  };
  expect_told({one}, "have no record of what they cost here");
  expect_told({one, "sm_80 108 NVIDIA A100"}, "have no record of what they cost here");
  expect_told({one, other}, "the records have costs of 2 GPUs of sm_90a");
  expect_told({"sm_80 108 NVIDIA A100"}, "the records have costs of 0 GPUs of sm_90a");
}

}  // namespace
}  // namespace tessera::e2e
