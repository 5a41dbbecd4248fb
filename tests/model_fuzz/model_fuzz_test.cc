// SPDX-License-Identifier: Apache-2.0
// Mutated models through import, inference and the passes up to emission: each is compiled so
// far, or refused with a diagnostic; no signal, no internal error, no more than some seconds and
// bytes. A model runs in a process of its own; what fails stays in the build folder's model_fuzz/.
//   TESSERA_ONNX_CASES     the folders with models to mutate, where they are others: "A:B:C"
// apart.h has the variables that say how many.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/build.h"
#include "driver/load_model.h"
#include "driver/pipeline.h"
#include "import/testing/any_node.h"
#include "support/files.h"
#include "tests/model_fuzz/apart.h"
#include "tests/model_fuzz/mutate_model.h"
#include "types/target.h"

namespace tessera::model_fuzz {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const onnx::ModelProto& model) {
  std::ofstream(path, std::ios::binary) << model.SerializeAsString();
}

int compile_so_far(const std::string& path) {
  auto module = driver::load_model(path, {});
  if (!module) return outcome_of(module.error());
  driver::CompileOptions options;
  options.targets = {Target("cpu")};
  module->targets = options.targets;
  std::vector<Diagnostic> warnings;
  module = driver::optimize_graph(*std::move(module), options, warnings);
  if (!module) return outcome_of(module.error());
  module = driver::prepare_native(*std::move(module), options, warnings);
  if (!module) return outcome_of(module.error());
  const auto lowered = driver::lower_module(*std::move(module), options);
  return lowered ? kCompiled : outcome_of(lowered.error());
}

// Models of ONNX, and what other tests of this build made: node cases of the Python package onnx,
// models for guard pages and the zoo.
constexpr const char* kFolders = "/usr/share/libonnx-testdata:" TESSERA_BUILD_DIR
                                 "/tests/onnx_gate:" TESSERA_BUILD_DIR "/tests/guard";

std::vector<std::string> seed_models() {
  constexpr std::uintmax_t kMostBytes = 100000;
  const char* given = std::getenv("TESSERA_ONNX_CASES");
  std::istringstream folders(given != nullptr ? given : kFolders);
  std::vector<std::string> paths;
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ec;
    for (fs::recursive_directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
      if (it->path().extension() == ".onnx" && fs::file_size(it->path(), ec) < kMostBytes) {
        paths.push_back(it->path().string());
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(ModelFuzz, MutatedModelsAreCompiledOrRefused) {
  const std::vector<std::string> seeds = seed_models();
  if (seeds.empty()) GTEST_SKIP() << "the models of ONNX (libonnx-testdata) are not installed";
  const Budget budget;
  std::map<std::string, int> counts;
  std::uint64_t n = 0;
  for (; budget.has(n); ++n) {
    std::mt19937_64 random(budget.seed_of(n));
    onnx::ModelProto model;
    const std::string& from = seeds[random() % seeds.size()];
    ASSERT_TRUE(model.ParseFromString(read_file(from).value())) << from;
    const std::string done = mutate(model, random());
    const std::string path = path_of(budget, n, ".onnx");
    write(path, model);
    const std::string wrong = run_apart([&] { return compile_so_far(path); }, counts);
    if (wrong.empty()) fs::remove(path);
    EXPECT_EQ(wrong, "") << path << ", of " << from << ": " << done;
  }
  fmt::print("seed {}: {} mutated models, {} compiled, {} refused\n", budget.seed(), n,
             counts["compiled"], counts["refused"]);
}

int compile_node(import::TestModel& m, const std::string& path) {
  const auto module = import::AnyNode::answer(m, [&] {
    write(path, m.proto);
    return driver::load_model(path, {});
  });
  return module ? compile_so_far(path) : outcome_of(module.error());
}

TEST(ModelFuzz, AnyNodesAreCompiledOrRefused) {
  const import::ImporterWords words = import::words_of_importer();
  std::vector<std::string> names;
  for (const auto& [name, own] : words.operators) names.push_back(name);
  const Budget budget;
  std::map<std::string, int> counts;
  import::TestModel m;
  std::uint64_t n = 0;
  for (; budget.has(n); ++n) {
    import::AnyNode any(words, budget.seed_of(n));
    const std::string& name = names[n % names.size()];
    any.write(m, name, n / names.size() % 2 == 0 ? import::kNewestOpset : 18);
    const std::string path = path_of(budget, n, "-node.onnx");
    const std::string wrong = run_apart([&] { return compile_node(m, path); }, counts);
    if (wrong.empty()) fs::remove(path);
    EXPECT_EQ(wrong, "") << path << ", of " << name;
  }
  fmt::print("seed {}: {} models of one node, {} compiled, {} refused\n", budget.seed(), n,
             counts["compiled"], counts["refused"]);
}

}  // namespace
}  // namespace tessera::model_fuzz
