// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "driver/catalogue.h"
#include "driver/load_model.h"
#include "module/text.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "tools/command.h"
#include "tools/standard_error.h"
#include "types/target_list.h"

namespace tessera::tools {
namespace {

struct OptArgs {
  std::string input, output, passes, stop_after;
  std::vector<std::string> targets, patterns;
  bool print_changed = false, timing = false, trace_patterns = false;
};

Result<void> opt(const OptArgs& args) {
  TESSERA_TRY(const auto calls, passes::parse_pipeline(args.passes, driver::pass_catalogue()));
  const bool stops = std::any_of(calls.begin(), calls.end(), [&](const passes::PassCall& call) {
    return call.pass->name == args.stop_after;
  });
  if (!args.stop_after.empty() && !stops) {
    return fail(
        error(Code::kBadOption, {}, "--stop-after: `{}` is not in --passes", args.stop_after)
            .with_remedy("name one of the passes that run"));
  }
  TESSERA_TRY(Module module, driver::load_module_text(args.input));
  if (!args.targets.empty()) {
    TESSERA_TRY(module.targets, parse_targets(args.targets));
    TESSERA_TRY_VOID(resolve_targets(module.targets));
  }
  TESSERA_TRY(const auto tables, driver::load_pattern_tables(args.patterns));
  passes::ManagerOptions options;
  options.verify_each = true;
  options.pattern_tables = tables;
  if (args.trace_patterns) {
    options.trace_patterns = [](const std::string& line) { tell("{}\n", line); };
  }
  options.stop_after = args.stop_after;
  if (args.print_changed || args.timing) {
    options.after_each = [&](const passes::PassTime& time, const Module& m) {
      if (args.timing) tell("{:<28} {:8.3f} ms\n", time.name, time.seconds * 1e3);
      if (args.print_changed && time.changed) tell("// after {}\n{}", time.name, print(m));
    };
  }
  TESSERA_TRY(const passes::ManagerOutcome outcome,
              passes::run_passes(std::move(module), calls, ops::operators(), options));
  for (const Diagnostic& w : outcome.warnings) report(w);
  return write_output(args.output, print(outcome.module));
}

std::string pass_list() {
  std::string text = "Passes:\n";
  for (const passes::Pass* p : driver::pass_catalogue()) {
    text += fmt::format("  {:<28} {}\n", p->name, p->summary);
    for (const relay::AttrField& field : p->options().fields)
      text += fmt::format("      {}\n", field.name);
  }
  return text;
}

}  // namespace

void add_opt(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<OptArgs>();
  CLI::App* command = app.add_subcommand("opt", "Run passes on Relay text; text to text");
  command->footer(pass_list());
  command->add_option("input", args->input, "Relay text; - is standard input")->required();
  command->add_option("--passes", args->passes, "Passes from left to right: \"a,b{key=value}\"");
  command->add_option("--target", args->targets, "Targets of the module, in order")
      ->allow_extra_args(false);
  command->add_option("-o,--output", args->output, "File to write; standard output without it");
  command->add_option("--stop-after", args->stop_after, "Omit what comes after this pass");
  command->add_option("--patterns", args->patterns, "File with tables of patterns; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--trace-patterns", args->trace_patterns,
                    "Say of each pattern where it was tried, declined and applied");
  command->add_flag("--print-changed", args->print_changed,
                    "Print the module after each pass that changes it");
  command->add_flag("--timing", args->timing, "Print the time of each pass");
  command->callback([&chosen, args] {
    chosen = [args] {
      const Result<void> done = opt(*args);
      return done ? static_cast<int>(kDone) : report(done.error());
    };
  });
}

}  // namespace tessera::tools
