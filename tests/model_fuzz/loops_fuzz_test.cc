// SPDX-License-Identifier: Apache-2.0
// Mutated loop functions of this source in the text of a module, for a CPU and for a GPU: read,
// verified and left behind by lowering, or refused with a diagnostic that has a place.
#include <algorithm>
#include <filesystem>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/build.h"
#include "driver/load_model.h"
#include "driver/pipeline.h"
#include "support/files.h"
#include "tests/model_fuzz/apart.h"
#include "tests/model_fuzz/mutate_loops.h"
#include "types/target.h"

namespace tessera::model_fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> loop_functions() {
  std::vector<std::string> paths, texts;
  for (const auto& entry : fs::recursive_directory_iterator(TESSERA_SOURCE_DIR "/src")) {
    if (entry.path().extension() == ".tir") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::string text = read_file(path).value();
    // The first of the functions of a file.
    const std::size_t second = text.find("@T.prim_func", text.find("@T.prim_func") + 1);
    texts.push_back(text.substr(0, second));
  }
  return texts;
}

int refusal(const Diagnostics& errors) {
  for (const Diagnostic& d : errors.list) {
    if (!d.location) return kInternalError;
  }
  return outcome_of(errors);
}

int compile_to_loops(const std::string& path, const char* target) {
  auto module = driver::load_model(path, {});
  if (!module) return refusal(module.error());
  driver::CompileOptions options;
  options.targets = {Target(target)};
  module->targets = options.targets;
  std::vector<Diagnostic> warnings;
  module = driver::optimize_graph(*std::move(module), options, warnings);
  if (!module) return refusal(module.error());
  module = driver::prepare_native(*std::move(module), options, warnings);
  if (!module) return refusal(module.error());
  const auto lowered = driver::lower_module(*std::move(module), options);
  return lowered ? kCompiled : refusal(lowered.error());
}

TEST(LoopsFuzz, MutatedLoopFunctionsAreCheckedOrRefused) {
  const std::vector<std::string> seeds = loop_functions();
  ASSERT_FALSE(seeds.empty());
  const Budget budget;
  std::map<std::string, int> counts;
  std::uint64_t n = 0;
  for (; budget.has(n); ++n) {
    std::mt19937_64 random(budget.seed_of(n));
    const std::string& function = seeds[random() % seeds.size()];
    const std::string text =
        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { %x }\n"
        "@k = tir {\n" +
        mutate_loops(function, random()) + "\n}\n";
    const std::string path = path_of(budget, n, ".relay");
    ASSERT_TRUE(write_atomically(path, text));
    const char* target = n % 2 == 0 ? "cpu" : "cuda";
    const std::string wrong = run_apart([&] { return compile_to_loops(path, target); }, counts);
    if (wrong.empty()) fs::remove(path);
    EXPECT_EQ(wrong, "") << path << " for " << target;
  }
  fmt::print("seed {}: {} texts, {} checked, {} refused\n", budget.seed(), n, counts["compiled"],
             counts["refused"]);
  EXPECT_GT(counts["compiled"], 0) << "some changes do no harm";
}

}  // namespace
}  // namespace tessera::model_fuzz
