// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "driver/compile.h"
#include "driver/tuning.h"
#include "support/json_text.h"
#include "tools/progress_bar.h"
#include "tools/target_options.h"
#include "tools/tuning_table.h"

namespace tessera::tools {
namespace {

struct TuneArgs {
  ModelOptionTexts model;
  bool json = false;
};

void print(const driver::CompileReport& report, const driver::CompileOptions& options, bool json) {
  const std::string& records = options.records;
  if (json) {
    const nlohmann::ordered_json all = {{"seconds", report.seconds},
                                        {"records", records},
                                        {"tuned", tuning_json(report.tuned)},
                                        {"made", report.made}};
    show("{}\n", json_text(all, 2));
  } else if (report.tuned.empty() && report.made > 0) {
    show("{} engines or plans, {:.1f} s; records in {}\n", report.made, report.seconds, records);
  } else if (report.tuned.empty()) {
    const std::string help = driver::help_to_measure(options.targets);
    show(
        "there is nothing to measure: neither generated code nor a back end of the targets has a "
        "choice\n{}",
        help.empty() ? "" : fmt::format("help: {}\n", help));
  } else {
    show("{}{:.1f} s; records in {}\n", tuning_table(report.tuned), report.seconds, records);
  }
}

// No product has a time, and the table alone says what of each.
Diagnostic nothing_usable(const driver::CompileReport& report, const std::string& records) {
  for (const tune::TuneRow& row : report.tuned) {
    if (row.problem.empty()) continue;
    return error(Code::kBadOption, {}, "no product has a configuration that can be used: {}",
                 row.problem)
        .with_remedy("give more time with --budget");
  }
  return error(Code::kBackendFailed, {},
               "no product has a configuration that can be used: all that were tried failed")
      .with_remedy(driver::help_after_failures(records));
}

int tune(const TuneArgs& args) {
  Result<driver::CompileOptions> options = resolve(args.model);
  if (!options) return report(options.error());
  options->tuning.measures = true;
  driver::Progress progress;
  const double budget_s = options->tuning.budget_s;
  ProgressBar compiling("compiling candidates", budget_s), measuring("measuring", budget_s);
  progress.sources = [&](std::size_t done, std::size_t of) {
    compiling.show(static_cast<double>(done) / static_cast<double>(of));
  };
  progress.measured = [&](std::size_t done, std::size_t of) {
    compiling.clear();
    measuring.show(static_cast<double>(done) / static_cast<double>(of));
  };
  const Result<driver::CompileReport> result = driver::tune(*options, progress);
  compiling.clear();
  measuring.clear();
  if (!result) return report(result.error());
  Diagnostics warnings;
  for (const Diagnostic& w : result->warnings) warnings.add(w);
  if (!warnings.empty()) report(warnings);
  print(*result, *options, args.json);
  const bool any = std::any_of(result->tuned.begin(), result->tuned.end(),
                               [](const tune::TuneRow& row) { return row.best.has_value(); });
  if (any || result->tuned.empty()) return kDone;
  return report(nothing_usable(*result, options->records));
}

}  // namespace

void add_tune(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<TuneArgs>();
  ModelOptionTexts& texts = args->model;
  CLI::App* command = app.add_subcommand(
      "tune", "Measure on this machine which configurations of a model's kernels are fastest");
  command->add_option("model", texts.options.model, "ONNX model, or Relay text (.relay)")
      ->required();
  add_model_options(*command, texts);
  command->get_option("--records")
      ->required()
      ->description("File that measurements are added to; what it has is not measured again");
  add_tuning_options(*command, texts);
  command->add_flag("--json", args->json, "Print the result as JSON");
  command->callback([&chosen, args] { chosen = [args] { return tune(*args); }; });
}

}  // namespace tessera::tools
