// SPDX-License-Identifier: Apache-2.0
// The ONNX gate: runs model cases and compares which of them pass with the two committed lists. Any
// change is a failure: a case that no longer passes, and one that does now.
#include <chrono>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "tests/onnx_gate/engine.h"
#include "tests/onnx_gate/expectations.h"
#include "tests/onnx_gate/workers.h"
#include "types/target_list.h"

namespace tessera::onnx_gate {
namespace {

struct Options {
  std::string cases = "/usr/share/libonnx-testdata/data";
  std::string lists;  // empty: every case must pass
  std::string engine = "library";
  std::string filter;
  std::vector<std::string> targets;
  std::size_t share = 1;  // one of how many cases
  std::size_t today = 1;  // the same, another one each day
  std::size_t jobs = 2;
  unsigned seconds = 120;  // for one case
  bool update = false, verbose = false;
};

// What a worker sends for a case that does not fail.
constexpr std::string_view kPass = "pass";

struct Totals {
  std::size_t run = 0, passed = 0, surprises = 0;
};

class Gate {
 public:
  explicit Gate(Options options) : options_(std::move(options)) {}

  int run() {
    if (!options_.lists.empty() && !read_lists()) return 1;
    choose_cases();
    if (cases_.empty()) {
      fmt::print(stderr, "no cases below {}\n", options_.cases);
      return 1;
    }
    if (!options_.targets.empty()) {
      auto targets = parse_targets(options_.targets);
      if (!targets) {
        fmt::print(stderr, "{}", render(targets.error()));
        return 1;
      }
      targets_ = *std::move(targets);
    }
    run_in_workers(
        cases_.size(), options_.jobs, options_.seconds,
        [&](std::size_t i) {
          const auto what = outcome(cases_[i]);
          return what ? what->text() : std::string(kPass);
        },
        [&](std::size_t i, const std::string& text) { record(cases_[i].name, text); });
    if (options_.update) return update();
    report_vanished();
    fmt::print("{} cases, {} pass, {} surprises\n", totals_.run, totals_.passed, totals_.surprises);
    return totals_.surprises == 0 ? 0 : 1;
  }

 private:
  // What the importer alone already says is not the compiler's, unless the compiler does worse.
  std::optional<Failure> outcome(const Case& c) const {
    if (options_.engine == "eval") return failure(c, evaluated);
    auto what = failure(c, [this](const Case& of) { return compiled(of, targets_); });
    if (!what) return std::nullopt;
    const auto imported = failure(c, evaluated);
    Code refused{};
    if (imported && (imported->kind == what->kind || find_code(what->kind, refused))) {
      return imported;
    }
    what->reason.insert(0, kCompilerReason);
    return what;
  }

  bool read_lists() {
    auto lists = Expectations::read(options_.lists);
    if (!lists && !options_.update) {
      fmt::print(stderr, "{}", render(lists.error()));
      return false;
    }
    if (lists) expected_ = std::move(*lists);
    return true;
  }

  void choose_cases() {
    const auto day = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    const auto today = static_cast<std::size_t>(day.time_since_epoch().count());
    std::size_t i = 0;
    for (Case& c : find_cases(options_.cases)) {
      if (c.name.find(options_.filter) == std::string::npos) continue;
      const bool is_chosen =
          i % options_.share == 0 && i % options_.today == today % options_.today;
      if (is_chosen) cases_.push_back(std::move(c));
      ++i;
    }
  }

  // What the lists name and no folder holds is tested no more.
  void report_vanished() {
    if (options_.share > 1 || options_.today > 1 || !options_.filter.empty()) return;
    std::set<std::string> names;
    for (const Case& c : cases_) names.insert(c.name);
    for (const std::string& name : expected_.not_among(names)) {
      ++totals_.surprises;
      fmt::print("{} is in a list, and there is no such case\n", name);
    }
  }

  void record(const std::string& name, const std::string& text) {
    const auto failed = text == kPass ? std::nullopt : std::optional(Failure::parse(text));
    ++totals_.run;
    totals_.passed += failed ? 0 : 1;
    if (options_.verbose) fmt::print("{}: {}\n", name, text);
    const auto surprise = surprise_of(name, failed);
    if (!surprise) return;
    ++totals_.surprises;
    if (!options_.update) {
      fmt::print("{} {}\n", name, *surprise);
    } else if (failed) {
      expected_.pass.erase(name);
      expected_.fail[name] = *failed;
    } else {
      expected_.fail.erase(name);
      expected_.pass.insert(name);
    }
    std::fflush(stdout);
  }

  // Without lists all cases must pass.
  std::optional<std::string> surprise_of(const std::string& name,
                                         const std::optional<Failure>& failed) const {
    if (!options_.lists.empty()) {
      return expected_.surprise(name, failed, options_.engine == "eval");
    }
    return failed ? std::optional("fails: " + failed->text()) : std::nullopt;
  }

  int update() const {
    const auto written = expected_.write(options_.lists);
    if (!written) {
      fmt::print(stderr, "{}", render(written.error()));
      return 1;
    }
    fmt::print("{} cases, {} pass, {} lines changed\n", totals_.run, totals_.passed,
               totals_.surprises);
    return 0;
  }

  Options options_;
  Expectations expected_;
  std::vector<Case> cases_;
  std::vector<Target> targets_;
  Totals totals_;
};

}  // namespace

int gate_main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs the model cases of ONNX against two lists"};
  app.add_option("--cases", options.cases, "folder with the cases");
  app.add_option("--lists", options.lists,
                 "folder with expected_pass.txt and expected_fail.txt; without it all must pass");
  app.add_option("--engine", options.engine, "how to run a case")
      ->check(CLI::IsMember({"eval", "library"}));
  app.add_option("--filter", options.filter, "only cases with this in their name");
  app.add_option("--target", options.targets,
                 "as of `tessera compile`, in order; without it the CPU without back ends");
  app.add_option("--share", options.share, "only one of so many cases")->check(CLI::PositiveNumber);
  app.add_option("--today", options.today, "only one of so many cases, others each day")
      ->check(CLI::PositiveNumber);
  app.add_option("--jobs", options.jobs, "processes")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "limit for one case");
  app.add_flag("--update", options.update, "write the lists");
  app.add_flag("--verbose", options.verbose, "print every case");
  CLI11_PARSE(app, argc, argv);
  if (options.update && options.lists.empty()) {
    fmt::print(stderr, "--update needs --lists\n");
    return 2;
  }
  return Gate(options).run();
}

}  // namespace tessera::onnx_gate

int main(int argc, char** argv) { return tessera::onnx_gate::gate_main(argc, argv); }
