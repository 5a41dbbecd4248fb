// SPDX-License-Identifier: Apache-2.0
// The fuzzer of graphs and partitions. Legal partitions compute what the reference computes;
// illegal ones are refused with a place and a reason. What fails is reduced and written down.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "constants/npy.h"
#include "module/text.h"
#include "support/files.h"
#include "tests/fuzz/batch.h"
#include "tests/fuzz/illegal.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/reduce.h"
#include "tests/onnx_gate/workers.h"

namespace tessera::fuzz {
namespace {

struct Options {
  std::uint64_t graphs = 1000, first = 0;
  std::size_t batch = 100;
  std::uint64_t seed = 0;
  std::string failures = "fuzz-failures";  // a folder
  std::string report;                      // a file
  int most_tries = 60;
  std::size_t jobs = 1;  // processes
  double seconds = 0;    // 0: the number of graphs counts
  Shapes shapes = Shapes::kStatic;
  DeviceType device = DeviceType::kCpu;
};

// A batch that has begun is not stopped; none takes less than a second.
constexpr std::size_t kGraphsOfTimedBatch = 20;

// Another day, other graphs; one day, the same.
std::uint64_t seed_of_today() {
  return static_cast<std::uint64_t>(std::time(nullptr)) / (24 * 60 * 60);
}

class Fuzzer {
 public:
  explicit Fuzzer(Options options) : options_(std::move(options)) {}

  // Batches are made, run and reduced in processes of their own: nothing ends the fuzzer.
  int run() {
    fmt::print("seed {} (TESSERA_FUZZ_SEED or --seed repeats it), graphs from {}, at most {}\n",
               options_.seed, options_.first, options_.graphs);
    std::fflush(stdout);
    const std::uint64_t batches = (options_.graphs + options_.batch - 1) / options_.batch;
    onnx_gate::run_in_workers(
        batches, options_.jobs, kMostSecondsOfBatch, [&](std::size_t i) { return batch(i); },
        [&](std::size_t i, const std::string& text) { take(i, text); });
    const std::string summary = report();
    fmt::print("{}", summary);
    if (!options_.report.empty() && !write_atomically(options_.report, summary)) return 2;
    return counts_.contains(kFailures) ? 1 : 0;
  }

 private:
  static constexpr unsigned kMostSecondsOfBatch = 3600;  // with the reduction of what fails
  static constexpr const char* kFailures = "failures";
  static constexpr const char* kGraphs = "graphs";

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  // Each hundred has back ends of its own for what partitions leave.
  std::uint64_t list_seed(std::uint64_t number) const {
    return derived_seed(options_.seed, "list", number / 100);
  }

  // Its counts as text; failures are printed at once.
  std::string batch(std::size_t number) {
    if (options_.seconds > 0 && seconds() > options_.seconds) return "";
    counts_.clear();
    const std::uint64_t begin = options_.first + number * options_.batch;
    const std::uint64_t end = std::min(options_.first + options_.graphs, begin + options_.batch);
    std::vector<Case> cases;
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t seed = derived_seed(options_.seed, "graph", i);
      cases.push_back(random_case(seed, options_.shapes, options_.device));
      ++counts_[fmt::format("legal, partition {}", to_string(style_of(cases.back())))];
      illegal(i, cases.back());
    }
    const BatchOutcome outcome = run_apart(cases, list_seed(begin));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!outcome.failures[i]) continue;
      if (const auto refused = refusal(*outcome.failures[i])) {
        ++counts_[*refused];
        note(begin + i, *outcome.failures[i]);
      } else {
        failure(begin + i, cases[i], *outcome.failures[i]);
      }
    }
    for (const auto& [what, count] : outcome.counts) counts_[what] += count;
    counts_[kGraphs] += cases.size();
    std::string text;
    for (const auto& [what, count] : counts_) text += fmt::format("{}\t{}\n", count, what);
    return text;
  }

  void take(std::size_t number, const std::string& text) {
    if (text.starts_with("crash:") || text.starts_with("hang:")) {
      announce(options_.first + number * options_.batch, text + " in this batch", "none",
               options_.batch);
      return;
    }
    if (text.empty()) return;
    std::istringstream lines(text);
    std::uint64_t count = 0;
    std::string what;
    while (lines >> count && lines.get() != 0 && std::getline(lines, what)) counts_[what] += count;
    fmt::print("{} graphs in {:.0f} s\n", counts_[kGraphs], seconds());
    std::fflush(stdout);
  }

  void illegal(std::uint64_t number, const Case& c) {
    const IllegalOutcome outcome = try_illegal(c.graph, c.seed);
    if (outcome.kind.empty()) return;
    ++counts_["illegal, " + outcome.kind];
    if (!outcome.problem) return;
    const std::string file = write(number, "illegal.relay", outcome.text);
    announce(number, outcome.kind + ": " + *outcome.problem, file);
  }

  void failure(std::uint64_t number, const Case& c, const std::string& what) {
    const auto fails = [&](const Graph& smaller) {
      const auto why =
          run_apart({{c.seed, c.shapes, c.device, smaller}}, list_seed(number)).failures[0];
      return why && !refusal(*why);
    };
    // Only what fails on its own can be made smaller on its own.
    const bool alone = fails(c.graph);
    const Graph small = alone ? reduced(c.graph, fails, options_.most_tries) : c.graph;
    const std::string file = write(number, "relay", print(module_of(small)));
    for (std::size_t r = 0; r < small.runs.size(); ++r) write_inputs(small, r, file);
    if (auto part = partitioned(small.function, "main", style_of(c), c.seed)) {
      part->symbols = small.symbols;
      write(number, "partitioned.relay", print(*part));
    }
    announce(number,
             fmt::format("{}{}, partition {}", what, alone ? "" : " (not on its own)",
                         to_string(style_of(c))),
             file);
  }

  static void write_inputs(const Graph& graph, std::size_t r, const std::string& beside) {
    const std::string file = fmt::format("{}.{}.npz", beside, r);
    std::map<std::string, Tensor> inputs;
    for (std::size_t i = 0; i < graph.runs[r].inputs.size(); ++i) {
      const auto param = graph.function.params()[i];
      inputs.emplace(graph.function.as<relay::Param>(param)->name, graph.runs[r].inputs[i]);
    }
    if (!write_npz(file, inputs)) fmt::print("cannot write {}\n", file);
  }

  // A refusal, in its first line.
  static void note(std::uint64_t number, const std::string& why) {
    fmt::print("graph {}: {}\n", number, why.substr(0, why.find('\n')));
    std::fflush(stdout);
  }

  std::string write(std::uint64_t number, std::string_view kind, const std::string& text) const {
    const std::string file =
        fmt::format("{}/{}_{}.{}", options_.failures, options_.seed, number, kind);
    std::error_code reported_when_written;
    std::filesystem::create_directories(options_.failures, reported_when_written);
    if (const auto written = write_atomically(file, text); !written) {
      fmt::print("cannot write {}\n", written.error().text());
    }
    return file;
  }

  void announce(std::uint64_t number, const std::string& what, const std::string& file,
                std::size_t graphs = 1) {
    ++counts_[kFailures];
    fmt::print(
        "FAILED graph {}: {}\n  reduced: {}\n  replay: tessera_fuzz --seed {} --first {} "
        "--graphs {}{}{}\n",
        number, what, file, options_.seed, number, graphs,
        options_.shapes == Shapes::kOpen ? " --open" : "",
        options_.device == DeviceType::kCuda ? " --cuda" : "");
    std::fflush(stdout);
  }

  std::string report() {
    std::string text = fmt::format("seed {}, from graph {}{}{}\n", options_.seed, options_.first,
                                   options_.shapes == Shapes::kOpen ? ", open sizes" : "",
                                   options_.device == DeviceType::kCuda ? ", on a GPU" : "");
    for (const auto& [what, count] : counts_) {
      if (what != kFailures && what != kGraphs) {
        text += fmt::format("{:<48} {:>7}\n", what, count);
      }
    }
    return text + fmt::format("{} graphs, {} failures\n", counts_[kGraphs],
                              counts_.contains(kFailures) ? counts_[kFailures] : 0);
  }

  const Options options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::map<std::string, std::uint64_t> counts_;
};

int fuzz_main(int argc, char** argv) {
  Options options;
  options.seed = seed_of_today();
  CLI::App app{"Fuzzes graphs and partitions"};
  app.add_option("--graphs", options.graphs, "how many")->envname("TESSERA_FUZZ_GRAPHS");
  app.add_option("--first", options.first, "number of the first graph");
  app.add_flag_callback(
      "--open", [&] { options.shapes = Shapes::kOpen; },
      "with open sizes, by each back end alone, too");
  app.add_flag_callback(
      "--cuda", [&] { options.device = DeviceType::kCuda; }, "native code on this machine's GPU");
  app.add_option("--batch", options.batch, "graphs in one library")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "decides everything; another one each day")
      ->envname("TESSERA_FUZZ_SEED");
  app.add_option("--failures", options.failures, "folder for failing cases");
  app.add_option("--report", options.report, "file for the summary");
  app.add_option("--most-tries", options.most_tries, "steps of the reduction of a failing case");
  app.add_option("--seconds", options.seconds, "begins no batch after that time")
      ->envname("TESSERA_FUZZ_SECONDS");
  app.add_option("--jobs", options.jobs, "batches at once")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  // The number counts where it is given, else the time.
  if (app["--graphs"]->count() != 0) {
    options.seconds = 0;
  } else if (options.seconds > 0) {
    options.batch = std::min(options.batch, kGraphsOfTimedBatch);
    const double batches = (options.seconds + 1) * static_cast<double>(options.jobs);
    options.graphs = options.batch * static_cast<std::uint64_t>(batches);
  }
  return Fuzzer(options).run();
}

}  // namespace
}  // namespace tessera::fuzz

int main(int argc, char** argv) { return tessera::fuzz::fuzz_main(argc, argv); }
