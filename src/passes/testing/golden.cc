// SPDX-License-Identifier: Apache-2.0
#include "passes/testing/golden.h"

#include <filesystem>
#include <iomanip>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "module/text.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "passes/testing/golden_constants.h"
#include "passes/testing/random_inputs.h"
#include "relay/patterns/pattern_text.h"
#include "support/files.h"
#include "types/target_list.h"

namespace tessera::passes::testing {
namespace {

// `opt --passes P --target T --patterns F --trace-patterns ...`; words may be quoted whole.
struct OptCommand {
  std::string passes;
  std::vector<std::string> targets, patterns;
  bool traces = false;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  std::string word;
  while (in >> std::quoted(word, '\'')) words.push_back(word);
  return words;
}

OptCommand parse_args(std::string args, const std::string& folder) {
  constexpr std::string_view kFolder = "{testdata}";
  for (auto at = args.find(kFolder); at != args.npos; at = args.find(kFolder)) {
    args.replace(at, kFolder.size(), folder);
  }
  const std::vector<std::string> words = words_of(args);
  OptCommand command;
  TESSERA_CHECK(!words.empty() && words[0] == "opt", "ARGS are `opt [OPTION]...`, found `{}`",
                args);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--trace-patterns") {
      command.traces = true;
      continue;
    }
    TESSERA_CHECK(i + 1 < words.size(), "`{}` has no value in `{}`", words[i], args);
    const std::string& value = words[i + 1];
    if (words[i] == "--passes") command.passes = value;
    if (words[i] == "--target") command.targets.push_back(value);
    if (words[i] == "--patterns") command.patterns.push_back(value);
    ++i;
  }
  return command;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Result<Module> read(const GoldenCase& golden, const std::string& text,
                    std::vector<Tensor> constants) {
  const auto file = std::make_shared<const SourceFile>(SourceFile{golden.name + ".relay", text});
  return parse_module(file, ops::operators(), std::move(constants));
}

// How commands are run: the passes and tables that there are.
struct Surroundings {
  std::span<const Pass* const> passes;
  std::span<const relay::PatternTable> tables;
};

Result<std::vector<relay::PatternTable>> tables_of(const OptCommand& command,
                                                   const Surroundings& known) {
  std::vector<relay::PatternTable> tables(known.tables.begin(), known.tables.end());
  for (const std::string& path : command.patterns) {
    auto text = read_file(path);
    TESSERA_CHECK(text.has_value(), "cannot read {}", path);
    const std::string name = std::filesystem::path(path).filename().string();
    TESSERA_TRY_VOID(relay::add_patterns(
        tables, std::make_shared<const SourceFile>(SourceFile{name, std::move(*text)}),
        ops::operators()));
  }
  return tables;
}

struct Ran {
  Module module;
  std::vector<std::string> trace;
  std::vector<Diagnostic> warnings;
};

Result<Ran> run_opt(Module module, const OptCommand& command, const Surroundings& known) {
  TESSERA_TRY(const auto calls, parse_pipeline(command.passes, known.passes));
  if (!command.targets.empty()) {
    TESSERA_TRY(module.targets, parse_targets(command.targets));
  }
  TESSERA_TRY(const auto tables, tables_of(command, known));
  Ran ran;
  ManagerOptions options;
  options.verify_each = true;
  options.pattern_tables = tables;
  if (command.traces) {
    options.trace_patterns = [&](const std::string& line) { ran.trace.push_back(line); };
  }
  TESSERA_TRY(ManagerOutcome outcome,
              run_passes(std::move(module), calls, ops::operators(), options));
  ran.module = std::move(outcome.module);
  ran.warnings = std::move(outcome.warnings);
  return ran;
}

bool is_static(const relay::Function& f) {
  for (const relay::NodeId id : f.params()) {
    if (!f.type(id).is_tensor() || is_dynamic(f.type(id))) return false;
  }
  return true;
}

class Checks {
 public:
  Checks(const GoldenCase& golden, const OptCommand& command, const Surroundings& known)
      : golden_(golden), command_(command), known_(known) {}

  std::vector<std::string> all(const Module& before, const Module& after,
                               const TextAndConstants& text) {
    round_trip(after, text);
    if (!golden_.not_idempotent) idempotent(after);
    types_and_values(before, after);
    return std::move(findings_);
  }

 private:
  void expect_equal(const Module& a, const Module& b, std::string_view what) {
    const ModuleDifference d = compare(a, b);
    if (!d.equal) findings_.push_back(fmt::format("{}: {}: {}", what, d.where, d.what));
  }

  void round_trip(const Module& after, const TextAndConstants& text) {
    const auto again = read(golden_, text.text, text.constants);
    if (!again) {
      findings_.push_back("the outcome cannot be read: " + render(again.error()));
      return;
    }
    expect_equal(after, *again, "the outcome reads back different");
    if (print_apart(*again, {.types = false}).text != print_apart(after, {.types = false}).text) {
      findings_.push_back("the outcome reads back equal and prints different");
    }
  }

  void idempotent(const Module& after) {
    const auto twice = run_opt(after, command_, known_);
    if (!twice) {
      findings_.push_back("the second run fails: " + render(twice.error()));
    } else {
      expect_equal(after, twice->module, "the second run changes the module");
    }
  }

  void types_and_values(const Module& before, const Module& after) {
    const auto from = ops::infer_types(before), to = ops::infer_types(after);
    if (!to) {
      findings_.push_back("the outcome has no types: " + render(to.error()));
    } else if (from && from->functions.contains("main") && to->functions.contains("main")) {
      const relay::Function &f = from->functions.at("main"), &g = to->functions.at("main");
      if (to_string(f.type(f.result())) != to_string(g.type(g.result()))) {
        findings_.push_back(fmt::format("the type of @main was {} and is {}",
                                        to_string(f.type(f.result())),
                                        to_string(g.type(g.result()))));
      }
      if (!golden_.not_evaluated && is_static(f)) values(*from, *to);
    }
  }

  void values(const Module& from, const Module& to) {
    const auto inputs = random_inputs(from.functions.at("main"));
    const auto in_order = [&](const Module& module) {
      const relay::Function& f = module.functions.at("main");
      std::vector<Tensor> tensors;
      for (const relay::NodeId id : f.params())
        tensors.push_back(inputs.at(f.as<relay::Param>(id)->name));
      return tensors;
    };
    const auto wanted = ops::evaluate(from, from.functions.at("main"), in_order(from)),
               found = ops::evaluate(to, to.functions.at("main"), in_order(to));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double tolerance = wanted[i].dtype.size_bytes() < 4 ? 4e-3 : 1e-5;
      const double difference = ops::relative_difference(found.at(i), wanted[i]);
      if (difference > tolerance) {
        findings_.push_back(fmt::format("tensor {} of the result differs by {}", i, difference));
      }
    }
  }

  const GoldenCase& golden_;
  const OptCommand& command_;
  const Surroundings& known_;
  std::vector<std::string> findings_;
};

GoldenOutcome failed(const GoldenCase& golden, const Diagnostics& errors) {
  GoldenOutcome outcome{lines_of(render(errors)), {}};
  if (!golden.must_fail())
    outcome.findings.push_back("fails; the names of such cases begin with fail_");
  return outcome;
}

}  // namespace

std::vector<std::string> golden_paths(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".relay") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

GoldenOutcome run_golden(const GoldenCase& golden, const std::string& folder,
                         std::span<const Pass* const> known,
                         std::span<const relay::PatternTable> tables) {
  const OptCommand command = parse_args(golden.args, folder);
  const Surroundings surroundings{known, tables};
  const auto before = read(golden, golden.text, golden.constants);
  if (!before) return failed(golden, before.error());
  const auto ran = run_opt(*before, command, surroundings);
  if (!ran) return failed(golden, ran.error());
  const TextAndConstants text = print_apart(ran->module, {.types = golden.types});
  GoldenOutcome outcome{lines_of(text.text),
                        Checks(golden, command, surroundings).all(*before, ran->module, text)};
  if (golden.must_fail()) outcome.findings.push_back("succeeds, and its name begins with fail_");
  if (!golden.has_version) outcome.lines.erase(outcome.lines.begin());
  for (const Tensor& t : text.constants) outcome.lines.push_back(constant_line(t));
  std::vector<std::string> told;
  for (const Diagnostic& warning : ran->warnings) {
    for (const std::string& line : lines_of(render(warning))) told.push_back(line);
  }
  told.insert(told.end(), ran->trace.begin(), ran->trace.end());
  outcome.lines.insert(outcome.lines.begin(), told.begin(), told.end());
  return outcome;
}

}  // namespace tessera::passes::testing
