// SPDX-License-Identifier: Apache-2.0
// Mutated models through import, inference and the passes up to emission: each is compiled so
// far, or refused with a diagnostic; no signal, no internal error, no more than some seconds and
// bytes. A model runs in a process of its own; what fails stays in the build folder's model_fuzz/.
//   TESSERA_FUZZ_SECONDS   time for it (5 without it)
//   TESSERA_FUZZ_MODELS    as many models instead, whatever the time
//   TESSERA_FUZZ_SEED      the run to repeat; without it the day's number
//   TESSERA_ONNX_CASES     the folder with the models of ONNX, where it is another one
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/load_model.h"
#include "driver/pipeline.h"
#include "support/files.h"
#include "tests/model_fuzz/apart.h"
#include "tests/model_fuzz/mutate_model.h"
#include "types/target.h"

namespace tessera::model_fuzz {
namespace {

namespace fs = std::filesystem;

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
  return module ? kCompiled : outcome_of(module.error());
}

std::vector<std::string> seed_models() {
  const char* given = std::getenv("TESSERA_ONNX_CASES");
  std::vector<std::string> paths;
  std::error_code ec;
  for (fs::recursive_directory_iterator
           it(given != nullptr ? given : "/usr/share/libonnx-testdata", ec),
       end;
       !ec && it != end; it.increment(ec)) {
    if (it->path().filename() == "model.onnx" && fs::file_size(it->path(), ec) < 100000) {
      paths.push_back(it->path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(ModelFuzz, MutatedModelsAreCompiledOrRefused) {
  const std::vector<std::string> seeds = seed_models();
  if (seeds.empty()) GTEST_SKIP() << "the models of ONNX (libonnx-testdata) are not installed";
  const std::uint64_t seed =
      number_of("TESSERA_FUZZ_SEED", static_cast<std::uint64_t>(std::time(nullptr) / 86400));
  const std::uint64_t models = number_of("TESSERA_FUZZ_MODELS", 0);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(number_of("TESSERA_FUZZ_SECONDS", 5));
  const fs::path folder = fs::path(TESSERA_BUILD_DIR) / "model_fuzz";
  fs::create_directories(folder);
  std::map<std::string, int> counts;
  std::uint64_t n = 0;
  for (; models > 0 ? n < models : std::chrono::steady_clock::now() < end; ++n) {
    std::mt19937_64 random(seed * 1000003 + n);
    onnx::ModelProto model;
    const std::string& from = seeds[random() % seeds.size()];
    ASSERT_TRUE(model.ParseFromString(read_file(from).value())) << from;
    const std::string done = mutate(model, random());
    const fs::path path = folder / fmt::format("{}-{}.onnx", seed, n);
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    const std::string wrong = run_apart([&] { return compile_so_far(path.string()); }, counts);
    if (wrong.empty()) fs::remove(path);
    EXPECT_EQ(wrong, "") << path << ", of " << from << ": " << done;
  }
  fmt::print("seed {}: {} models, {} compiled, {} refused\n", seed, n, counts["compiled"],
             counts["refused"]);
}

}  // namespace
}  // namespace tessera::model_fuzz
