// SPDX-License-Identifier: Apache-2.0
// Compiles models and runs their libraries between guard pages, or in the heap under
// AddressSanitizer, with hostile sizes and data: whatever they are, a run ends with a result or an
// error, and touches nothing that is not its own.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "driver/compile.h"
#include "driver/load_model.h"
#include "support/files.h"
#include "tests/guard/guarded_run.h"
#include "tests/guard/last_words.h"
#include "tests/onnx_gate/workers.h"
#include "types/target_list.h"

namespace tessera::guard {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> targets = {"cpu"};
  RunOptions run;
  std::size_t share = 1;  // one of how many models, another one each day
  std::size_t jobs = 2;
  unsigned seconds = 120;  // for one model
  bool heap = false, verbose = false;
};

bool is_model(const fs::path& path) {
  const std::string extension = path.extension();
  return extension == ".onnx" || extension == ".relay" || extension == ".so";
}

// Files as they are given, and all models below folders; sorted.
std::vector<std::string> find_models(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      found.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (is_model(entry.path())) found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// What a worker sends begins with one of these words.
constexpr const char* kFine = "fine";
constexpr const char* kRefused = "refused";
constexpr const char* kFault = "fault";

class Guard {
 public:
  Guard(Options options, std::vector<Target> targets)
      : options_(std::move(options)), targets_(std::move(targets)) {}

  int run() {
    const std::uint64_t today = static_cast<std::uint64_t>(std::time(nullptr)) / (24 * 60 * 60);
    std::size_t i = 0;
    for (std::string& model : find_models(options_.paths)) {
      if (i++ % options_.share == today % options_.share) models_.push_back(std::move(model));
    }
    onnx_gate::run_in_workers(
        models_.size(), options_.jobs, options_.seconds,
        [&](std::size_t m) { return examine(models_[m]); },
        [&](std::size_t m, const std::string& text) { take(models_[m], text); });
    for (const auto& [kind, count] : counts_) fmt::print("{} {}, ", count, kind);
    fmt::print("of {} models; seed {}\n", models_.size(), options_.run.seed);
    const bool none = models_.empty() || counts_[kFine] == 0;
    if (none) fmt::print("nothing has been run\n");
    return none || counts_[kFine] + counts_[kRefused] != models_.size() ? 1 : 0;
  }

 private:
  // Compiled twice where sizes are open: as it is, and for sizes of zero too.
  std::string examine(const std::string& path) const {
    speak_when_killed();
    last_words("while compiling " + path);
    try {
      Outcome all;
      if (path.ends_with(".so")) {
        all = run_guarded(path, options_.run);
      } else if (auto refusal = compile_and_run(path, {}, all)) {
        return fmt::format("{} {}", kRefused, *refusal);
      } else if (const auto dims = from_zero(path); !dims.empty()) {
        compile_and_run(path, dims, all);
      }
      last_words("");
      if (!all.faults.empty()) return fmt::format("{} {}", kFault, fmt::join(all.faults, "\n  "));
      return fmt::format("{} {} right, {} refused {}", kFine, all.right, all.refused,
                         all.last_refusal);
    } catch (const std::exception& e) {
      return fmt::format("{} {}", kFault, e.what());
    }
  }

  static std::vector<driver::DimBinding> from_zero(const std::string& path) {
    std::vector<driver::DimBinding> dims;
    const auto module = driver::load_model(path, {});
    if (!module) return dims;
    for (const auto& [name, symbol] : module->symbols) {
      if (symbol.min == 0 || symbol.step != 1) continue;
      dims.push_back({name, std::nullopt, symbol});
      dims.back().range.min = 0;
    }
    return dims;
  }

  // Why it does not compile, if it is refused.
  std::optional<std::string> compile_and_run(const std::string& path,
                                             const std::vector<driver::DimBinding>& dims,
                                             Outcome& all) const {
    const auto folder = TempDir::make("tessera-guard");
    if (!folder) throw std::runtime_error(folder.error().text());
    driver::CompileOptions options;
    options.model = path;
    options.output = folder->file("model.so");
    options.targets = targets_;
    if (targets_.size() < 2) options.partition = driver::Partition::kNone;
    options.dims = dims;
    options.jobs = 1;
    options.threads = options_.run.threads;
    const auto report = driver::compile(options);
    if (!report) {
      const std::string why = render(report.error());
      const bool emitted = report.error().list.at(0).code == Code::kToolFailed;
      if (emitted) throw std::runtime_error(why);
      return why;
    }
    const Outcome outcome = run_guarded(options.output, options_.run);
    all.right += outcome.right;
    all.refused += outcome.refused;
    all.last_refusal = outcome.last_refusal;
    all.faults.insert(all.faults.end(), outcome.faults.begin(), outcome.faults.end());
    return std::nullopt;
  }

  void take(const std::string& model, const std::string& text) {
    const std::string kind = text.substr(0, text.find_first_of(" :"));
    ++counts_[kind];
    if (options_.verbose || (kind != kFine && kind != kRefused)) {
      fmt::print("{}: {}\n", model, text);
    }
    std::fflush(stdout);
  }

  const Options options_;
  const std::vector<Target> targets_;
  std::vector<std::string> models_;
  std::map<std::string, std::size_t> counts_;
};

int guard_main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs models between guard pages with hostile sizes and data"};
  app.add_option("models", options.paths, "models, libraries, and folders of them")->required();
  app.add_option("--target", options.targets,
                 "as of `tessera compile`, in order; without back ends none is used");
  app.add_option("--seed", options.run.seed, "decides sizes and data");
  app.add_option("--rounds", options.run.rounds, "runs at each of the places");
  app.add_option("--threads", options.run.threads, "of an instance");
  app.add_option("--share", options.share, "only one of so many models, others each day")
      ->check(CLI::PositiveNumber);
  app.add_option("--jobs", options.jobs, "processes")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "limit for one model");
  app.add_flag("--heap", options.heap, "tensors in the heap, not at guard pages");
  app.add_flag("--verbose", options.verbose, "print every model");
  CLI11_PARSE(app, argc, argv);
  if (options.heap) options.run.places = {Place::kHeap};
  auto targets = parse_targets(options.targets);
  if (!targets) {
    fmt::print(stderr, "{}", render(targets.error()));
    return 2;
  }
  return Guard(options, *std::move(targets)).run();
}

}  // namespace
}  // namespace tessera::guard

int main(int argc, char** argv) { return tessera::guard::guard_main(argc, argv); }
