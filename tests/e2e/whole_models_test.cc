// SPDX-License-Identifier: Apache-2.0
// Two whole models through the command, against onnxruntime; with all back ends and with none.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "command.h"
#include "import/import_onnx.h"
#include "link/library_file.h"
#include "runtime/program.h"
#include "whole_model.h"

namespace tessera::e2e {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Case {
  std::string model;
  std::vector<std::string> dims;
  std::string partition;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.model << "_" << c.partition; }

// A library of the case, compiled once for all tests of a process.
struct Compiled {
  Command command;
  WholeModel model;
  std::string library;
  Json report;
  std::vector<std::string> compile_arguments;
};

Compiled compile(const Case& c) {
  Compiled out;
  out.command.share_cache();
  out.model = whole_model(c.model, c.dims);
  out.library = out.command.file("model.so");
  out.compile_arguments = {"compile", out.model.onnx, "--partition", c.partition};
  std::vector<std::string> arguments = out.compile_arguments;
  arguments.insert(arguments.end(), {"-o", out.library, "--json"});
  const ProcessResult result = out.command.run(arguments);
  if (!result.ok()) throw std::runtime_error(result.outcome() + "\n" + result.err);
  out.report = Json::parse(result.out);
  return out;
}

class WholeModels : public ::testing::TestWithParam<Case> {
 protected:
  const Compiled& compiled() {
    static std::map<std::string, std::unique_ptr<Compiled>> all;
    auto& slot = all[GetParam().model + GetParam().partition];
    if (!slot) slot = std::make_unique<Compiled>(compile(GetParam()));
    return *slot;
  }

  // Runs the library or model; gives the folder of outputs.
  std::string run(const std::string& what, const std::string& name,
                  const std::vector<std::string>& more = {}) {
    const Compiled& c = compiled();
    std::vector<std::string> arguments = {"run",       what, "--inputs",  c.model.inputs,
                                          "--outputs", name, "--threads", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = c.command.run(arguments);
    EXPECT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
    return c.command.file(name);
  }

  // Compiled again into another file, with other arguments.
  std::string compile_again(const std::string& name, const std::vector<std::string>& more) {
    const Compiled& c = compiled();
    std::vector<std::string> arguments = c.compile_arguments;
    arguments.insert(arguments.end(), {"-o", name});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = c.command.run(arguments);
    EXPECT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
    return c.command.file(name);
  }

  bool with_vendor_library() { return !compiled().report["libraries"].empty(); }
};

TEST_P(WholeModels, BothExecutorsAgreeWithOnnxruntime) {
  const Compiled& c = compiled();
  const std::string exported = run(c.library, "exported");
  EXPECT_LE(largest_difference(exported, c.model.outputs), 1e-4);
  const std::string interpreted =
      run(c.model.onnx, "interpreted", {"--partition", GetParam().partition});
  EXPECT_LE(largest_difference(interpreted, exported), 1e-6);
}

// Where no back end has kernels of float16 (AVX512_FP16), the same library but for its report.
TEST_P(WholeModels, InHalfPrecisionTakeTheKernelsThatThereAre) {
  const Compiled& c = compiled();
  std::vector<std::string> arguments = c.compile_arguments;
  arguments.insert(arguments.end(), {"-o", "half.so", "--precision", "fp16", "--json"});
  const ProcessResult result = c.command.run(arguments);
  ASSERT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
  const Json report = Json::parse(result.out);
  const bool has_kernels = with_vendor_library() && tessera_cpu_has("avx512fp16") == 1;
  EXPECT_LE(largest_difference(run(c.command.file("half.so"), "half"), c.model.outputs),
            has_kernels ? 1e-2 : 1e-4);
  EXPECT_EQ(report["precision"]["low_operators"] != 0, has_kernels);
  if (has_kernels) {
    EXPECT_LT(report["weight_bytes"], c.report["weight_bytes"]);
    return;
  }
  ASSERT_FALSE(report["precision"]["float32"].empty());
  EXPECT_NE(report["precision"]["float32"][0]["reason"].get<std::string>().find("float16"),
            std::string::npos);
  EXPECT_EQ(report["weight_bytes"], c.report["weight_bytes"]);
}

TEST_P(WholeModels, TheNumberOfThreadsChangesNoResult) {
  const Compiled& c = compiled();
  const std::string two = run(c.library, "two_threads");
  const std::string one = c.command.file("one_thread");
  ASSERT_TRUE(
      c.command
          .run({"run", c.library, "--inputs", c.model.inputs, "--outputs", one, "--threads", "1"})
          .ok());
  EXPECT_LE(largest_difference(one, two), 1e-5);
}

TEST_P(WholeModels, CompilingIsRepeatable) {
  const auto first = read_file(compiled().library);
  ASSERT_TRUE(first);
  fs::create_directories(compiled().command.file("again"));
  for (const char* jobs : {"1", "3"}) {
    const auto again = read_file(compile_again("again/model.so", {"--jobs", jobs}));
    ASSERT_TRUE(again);
    EXPECT_TRUE(*first == *again) << "with --jobs " << jobs;
  }
}

TEST_P(WholeModels, CompileReport) {
  const Json& report = compiled().report;
  EXPECT_GT(report["seconds"].get<double>(), 0);
  EXPECT_GT(report["peak_bytes"].get<std::uint64_t>(), 1'000'000u);
  EXPECT_EQ(report["library_bytes"].get<std::uint64_t>(), fs::file_size(compiled().library));
  EXPECT_LT(report["weight_bytes"].get<std::uint64_t>(), fs::file_size(compiled().library));
  EXPECT_GT(report["weight_bytes"].get<std::uint64_t>(), 10'000'000u);
  ASSERT_FALSE(report["placement"].empty());
  std::set<std::string> backends;
  for (const Json& row : report["placement"]) {
    EXPECT_FALSE(row["region"].get<std::string>().empty());
    EXPECT_FALSE(row["operators"].empty());
    EXPECT_NE(row.value("reason", "of nobody"), "");
    backends.insert(row["backend"]);
  }
  if (GetParam().partition == "none") {
    EXPECT_EQ(backends, std::set<std::string>{"native"});
  }
}

TEST_P(WholeModels, BenchReport) {
  const ProcessResult result =
      compiled().command.run({"bench", compiled().library, "--inputs", compiled().model.inputs,
                              "--seconds", "0.2", "--threads", "2", "--json"});
  ASSERT_TRUE(result.ok()) << result.err;
  const Json json = Json::parse(result.out);
  const double median = json["median_us"];
  EXPECT_GT(json["min_us"].get<double>(), 0);
  EXPECT_LE(json["min_us"].get<double>(), median);
  EXPECT_GE(json["p95_us"].get<double>(), median);
  EXPECT_GE(json["runs"].get<int>(), 3);
  EXPECT_GE(json["call_overhead_us"].get<double>(), 0);
  EXPECT_LE(json["call_overhead_us"].get<double>(), 20);
  EXPECT_EQ(json["threads"].get<int>(), 2);
  EXPECT_GT(json["load_us"].get<std::int64_t>(), 0);
  EXPECT_GT(json["peak_bytes"].get<std::uint64_t>(), 1'000'000u);
  EXPECT_FALSE(json.contains("device_arena_bytes"));
}

TEST_P(WholeModels, InspectReport) {
  const Command& command = compiled().command;
  const ProcessResult library = command.run({"inspect", compiled().library, "--json"});
  ASSERT_TRUE(library.ok()) << library.err;
  const ProcessResult model = command.run({"inspect", compiled().model.onnx, "--json"});
  ASSERT_TRUE(model.ok()) << model.err;
  const Json a = Json::parse(library.out), b = Json::parse(model.out);
  const auto same_names = [&](const char* ports) {
    ASSERT_EQ(a[ports].size(), b[ports].size());
    for (std::size_t i = 0; i < a[ports].size(); ++i) {
      EXPECT_EQ(a[ports][i]["name"], b[ports][i]["name"]);
    }
  };
  same_names("inputs");
  same_names("outputs");
  EXPECT_EQ(a["placement"].size(), compiled().report["placement"].size());
  EXPECT_EQ(a["libraries"], compiled().report["libraries"]);
  EXPECT_EQ(a["weight_bytes"], compiled().report["weight_bytes"]);
  EXPECT_EQ(a["library_bytes"], compiled().report["library_bytes"]);
  EXPECT_TRUE(a["target"].get<std::string>().starts_with("cpu"));
  EXPECT_EQ(a["pools"][0]["bytes"], compiled().report["arena_bytes"]);
  EXPECT_GT(b["operators"].size(), 3u);
}

TEST_P(WholeModels, ExportsAndNeedsNoMoreThanItMay) {
  const ProcessResult symbols =
      compiled().command.run_program({"nm", "-D", "--defined-only", "-j", compiled().library});
  ASSERT_TRUE(symbols.ok()) << symbols.err;
  std::istringstream lines(symbols.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(line.starts_with("tessera_")) << line;
  }
  EXPECT_GT(count, 10);
  const auto file = link::read_library_file(compiled().library);
  ASSERT_TRUE(file);
  const std::set<std::string> needed(file->needed.begin(), file->needed.end());
  std::set<std::string> wanted = {"ld-linux-x86-64.so.2", "libc.so.6"};
  if (with_vendor_library()) wanted.insert("libm.so.6");  // for what travels of `onednn`
  EXPECT_EQ(needed, wanted);
}

// The library alone in a folder that nobody writes to, with no environment at all.
TEST_P(WholeModels, RunsWithNothingAround) {
  Command bare;
  const std::string folder = bare.file("shipped");
  fs::create_directories(folder);
  if (with_vendor_library()) {
    fs::create_directories(compiled().command.file("bundled"));
    compile_again("bundled/model.so", {"--bundle"});
    for (const auto& entry : fs::directory_iterator(compiled().command.file("bundled"))) {
      fs::create_symlink(entry.path(), fs::path(folder) / entry.path().filename());
    }
    const std::vector<std::string> names = names_in(folder);
    for (const char* file : {"libdnnl.so.3", "model.so"}) {
      EXPECT_NE(std::find(names.begin(), names.end(), file), names.end()) << file;
    }
  } else {
    fs::create_symlink(compiled().library, folder + "/model.so");
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  const auto before = names_in(folder);
  bare.unset_all();
  const ProcessResult result = bare.run(
      {"run", folder + "/model.so", "--inputs", compiled().model.inputs, "--outputs", "out"});
  EXPECT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
  EXPECT_LE(largest_difference(bare.file("out"), compiled().model.outputs), 1e-4);
  EXPECT_EQ(names_in(folder), before);
  ::chmod(folder.c_str(), 0755);
}

// One file, alone in a folder, with no environment at all.
TEST_P(WholeModels, RunsAsOneFile) {
  if (!with_vendor_library()) return;
  fs::create_directories(compiled().command.file("inside"));
  const std::string library = compile_again("inside/model.so", {"--bundle=inside"});
  EXPECT_EQ(names_in(fs::path(library).parent_path()), std::vector<std::string>{"model.so"});
  Command bare;
  bare.unset_all();
  const ProcessResult result =
      bare.run({"run", library, "--inputs", compiled().model.inputs, "--outputs", "out"});
  EXPECT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
  EXPECT_LE(largest_difference(bare.file("out"), compiled().model.outputs), 1e-4);
}

// As the README says: compile, then run.
TEST_P(WholeModels, RunsWhereItWasCompiled) {
  Command bare;
  bare.unset_all();
  const ProcessResult result = bare.run({"run", compiled().library});
  EXPECT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
}

TEST_P(WholeModels, CompileSaysWhatAnotherMachineNeeds) {
  const Compiled& c = compiled();
  std::vector<std::string> arguments = c.compile_arguments;
  arguments.insert(arguments.end(), {"-o", "said.so"});
  const std::string said = c.command.run(arguments).out;
  const bool names = said.find("finds them here in ") != said.npos;
  EXPECT_EQ(names, with_vendor_library()) << said;
  if (!names) return;
  for (const char* word : {"needs at run time: libdnnl.so.3", "on another machine", "--bundle"}) {
    EXPECT_NE(said.find(word), said.npos) << word << " in\n" << said;
  }
}

TEST_P(WholeModels, AMissingVendorLibraryIsOneSentence) {
  if (!with_vendor_library()) return;
  Command bare;
  bare.unset_all();
  fs::create_directories(compiled().command.file("sent"));
  const std::string sent = compile_again("sent/model.so", {"--reproducible"});
  const ProcessResult result = bare.run({"run", sent});
  EXPECT_EQ(result.exit_status, 1);
  for (const char* word : {"E0502", "libdnnl.so.3", "onednn", "TESSERA_LIBRARY_PATH", "--bundle"}) {
    EXPECT_NE(result.err.find(word), std::string::npos) << word << " in\n" << result.err;
  }
}

std::size_t occurrences(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

// No weight's bytes stand twice, and none beside a reordered copy of it.
TEST_P(WholeModels, WeightsAreStoredOnce) {
  const auto module = import::import_onnx(compiled().model.onnx);
  ASSERT_TRUE(module);
  const auto library = read_file(compiled().library);
  ASSERT_TRUE(library);
  std::uint64_t weights = 0;
  int found = 0;
  for (const Tensor& t : module->constants.tensors()) {
    weights += t.blob->size_bytes();
    if (t.dtype != kFloat32 || t.blob->size_bytes() < 4096) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(t.blob->bytes().data()),
                                 t.blob->size_bytes());
    const std::size_t count = occurrences(*library, bytes.substr(bytes.size() / 2, 64));
    EXPECT_LE(count, 1u) << to_string(t.type());
    found += count == 1 ? 1 : 0;
  }
  EXPECT_GT(found, 0);
  EXPECT_LE(library->size(), weights + weights / 20 + 1'000'000);
}

INSTANTIATE_TEST_SUITE_P(All, WholeModels,
                         ::testing::Values(Case{"minilm", {"batch=1", "seq=32"}, "greedy"},
                                           Case{"minilm", {"batch=1", "seq=32"}, "none"},
                                           Case{"mobilenet_v2", {"batch=1"}, "greedy"},
                                           Case{"mobilenet_v2", {"batch=1"}, "none"}),
                         [](const auto& info) {
                           return info.param.model + "_" + info.param.partition;
                         });

}  // namespace
}  // namespace tessera::e2e
