// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "driver/automatic_precision.h"
#include "driver/placement_table.h"
#include "driver/source_files.h"
#include "support/json_text.h"
#include "tools/collage_table.h"
#include "tools/compile_events.h"
#include "tools/progress_bar.h"
#include "tools/report_json.h"
#include "tools/session.h"
#include "tools/target_options.h"
#include "tools/tuning_table.h"

namespace tessera::tools {
namespace {

struct CompileArgs {
  ModelOptionTexts model;
  std::string inputs;
  double max_error = 1e-2;
  std::vector<std::string> keep_weights;
  std::string bundle;  // "", "beside", "inside"
  bool json = false, events = false, no_measure = false, has_budget = false, has_trial = false;
};

// Of a model in float32: what else the machine could compute it in.
void print_types_left(const driver::CompileReport& r) {
  std::vector<std::string> names;
  if (r.tried.empty()) {
    for (const DType dtype : r.types_left) names.push_back(to_string(dtype));
  }
  if (names.empty()) return;
  show(
      "all in float32; this CPU multiplies {} in its own instructions: --precision auto "
      "--max-error 1e-2 takes that where it is exact enough\n",
      fmt::join(names, " and "));
}

void print_summary(const driver::CompileReport& r, const std::string& output) {
  if (!r.tuned.empty()) show("\n{}", tuning_table(r.tuned));
  if (r.collage) show("\n{}", collage_table(*r.collage));
  show("\n{}\n", driver::placement_table(r.placement));
  for (const passes::WeightRow& row : r.weights) {
    show("weight {} {}: {} ({}), {} of {}{}\n", row.name, row.matrix, row.stored_as(), row.reason,
         driver::size_text(row.bytes), driver::size_text(row.bytes_before),
         row.form.empty() ? "" : fmt::format(", error {:.2g}", row.error));
  }
  if (r.precision) {
    for (const auto& [op, reason, count] : r.precision->kept) {
      show("float32: {} {}, {}\n", count, op, reason);
    }
  }
  for (const auto& [op, reason, count] : r.float_operators) {
    show("quantised, computed in float32: {} {}, {}\n", count, op, reason);
  }
  print_types_left(r);
  show("{}: {} (weights {}), arena {} an instance, {:.1f} s, peak {}\n", output,
       driver::size_text(r.library_bytes), driver::size_text(r.weight_bytes),
       driver::size_text(r.arena_bytes), r.seconds, driver::size_text(r.peak_bytes));
  const std::string libraries = fmt::format("{}", fmt::join(r.needed_libraries, ", "));
  if (r.is_one_file) {
    show("carries inside: {}\n", libraries);
  } else {
    show("needs at run time: {}\n", libraries.empty() ? "nothing but libc and libm" : libraries);
  }
  if (r.vendor_folders.empty()) return;
  show(
      "finds them here in {}; on another machine name their folder in TESSERA_LIBRARY_PATH, or "
      "compile with --bundle\n",
      fmt::join(r.vendor_folders, ", "));
}

bool is_automatic(const CompileArgs& args) { return args.model.precision == "auto"; }

// What --precision auto is asked together with.
Result<void> check_trial(const CompileArgs& args) {
  if (args.has_trial && !is_automatic(args)) {
    return fail(error(Code::kBadOption, {}, "--max-error and --inputs are of --precision auto")
                    .with_remedy("add --precision auto, or omit them"));
  }
  if (is_automatic(args) && args.model.partition == "collage") {
    return fail(error(Code::kBadOption, {}, "--precision auto does not go with --partition collage")
                    .with_remedy("name the precision: what it measures is of one"));
  }
  return {};
}

Result<driver::CompileReport> compile_as_asked(const CompileArgs& args,
                                               const driver::CompileOptions& options,
                                               const driver::Progress& progress) {
  if (!is_automatic(args)) return driver::compile(options, progress);
  driver::AutomaticPrecision wanted{args.max_error};
  if (!args.inputs.empty()) {
    wanted.inputs = [&](exec::Session& session) { return read_inputs(session, args.inputs); };
  }
  return driver::compile_within_error(options, wanted, progress);
}

Result<driver::CompileReport> run(const CompileArgs& args, const driver::CompileOptions& options,
                                  const driver::Progress& progress) {
  TESSERA_TRY(driver::CompileReport report, compile_as_asked(args, options, progress));
  if (options.depfile.empty()) return report;
  TESSERA_TRY(const std::vector<std::string> sources, driver::source_files(options));
  TESSERA_TRY(const std::string rule, driver::dependency_rule(options.output, sources));
  TESSERA_TRY_VOID(write_output(options.depfile, rule));
  return report;
}

Result<driver::CompileOptions> options_of(const CompileArgs& args) {
  TESSERA_TRY_VOID(check_trial(args));
  TESSERA_TRY(driver::CompileOptions options, resolve(args.model));
  if (args.no_measure && options.tuning.measures) {
    return fail(error(Code::kBadOption, {}, "--tune and --no-measure exclude each other")
                    .with_remedy("omit one of them"));
  }
  const bool searches = options.partition == driver::Partition::kCollage;
  if (searches) options.tuning.measures = !args.no_measure;
  if (args.has_budget && !options.tuning.measures) {
    return fail(error(Code::kBadOption, {}, "--budget and --candidates are of what is measured")
                    .with_remedy("add --tune or --partition collage, or omit them"));
  }
  if (!args.bundle.empty()) {
    options.bundle = args.bundle == "inside" ? driver::Bundle::kInside : driver::Bundle::kBeside;
  }
  options.kept.names = {args.keep_weights.begin(), args.keep_weights.end()};
  options.kept.all = options.kept.names.erase("all") > 0;
  return options;
}

int compile(const CompileArgs& args) {
  const Result<driver::CompileOptions> options = options_of(args);
  if (args.events) {
    if (!options) return print_events(options.error());
    return compile_with_events([&](const auto& progress) { return run(args, *options, progress); });
  }
  if (!options) return report(options.error());
  driver::Progress progress;
  ProgressBar bar("compiling kernels"), measuring("measuring", options->tuning.budget_s);
  progress.measured = [&](std::size_t done, std::size_t of) {
    bar.clear();
    measuring.show(static_cast<double>(done) / static_cast<double>(of));
  };
  progress.sources = [&bar](std::size_t done, std::size_t of) {
    bar.show(static_cast<double>(done) / static_cast<double>(of));
  };
  if (!args.json) {
    progress.stage = [&](const driver::StageTime& stage, const std::string& what) {
      bar.clear();
      measuring.clear();
      show("{:<16} {:7.3f} s  {}\n", stage.name, stage.seconds, what);
      std::fflush(stdout);
    };
  }
  const Result<driver::CompileReport> result = run(args, *options, progress);
  bar.clear();
  measuring.clear();
  if (!result) return report(result.error());
  Diagnostics warnings;
  for (const Diagnostic& w : result->warnings) warnings.add(w);
  if (!warnings.empty()) report(warnings);
  if (args.json) {
    show("{}\n", json_text(report_json(*result), 2));
  } else {
    print_summary(*result, options->output);
  }
  return kDone;
}

}  // namespace

void add_compile(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<CompileArgs>();
  CLI::App* command = app.add_subcommand("compile", "Compile a model to one shared library");
  driver::CompileOptions& options = args->model.options;
  command->add_option("model", options.model, "ONNX model, or Relay text (.relay)")->required();
  command->add_option("-o,--output", options.output, "Library to write")->required();
  add_model_options(*command, args->model, {"none", "greedy", "collage"},
                    {"fp32", "fp16", "bf16", "auto"});
  command->get_option("--partition")
      ->description(
          "How regions go to back ends; none: to native code alone; greedy: by the order "
          "of the targets; collage: each to whom it is measured fastest with on this "
          "machine, and the whole no slower than with any back end alone");
  command
      ->add_option(
          "--max-error", args->max_error,
          "With --precision auto: a 16-bit type that the machine has kernels of is taken if "
          "no output differs from that of the model in float32 by more than this share of "
          "its largest magnitude, in one run")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option(
      "--inputs", args->inputs,
      "With --precision auto: folder of NAME.npy for that run; inputs without a file "
      "are random");
  command->add_flag("--tune", options.tuning.measures,
                    "Measure on this machine what has no record yet, and take the fastest; "
                    "records go to --records, or beside the cached objects");
  add_tuning_options(*command, args->model);
  add_collage_options(*command, args->model);
  command
      ->add_option("--threads", options.threads,
                   "Threads that the model is to run with: layouts are chosen and plans measured "
                   "for so many; 0: one a CPU")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_flag("--no-measure", args->no_measure,
                    "Measure nothing: records or heuristics alone choose, no device is needed, and "
                    "equal records give equal bytes (the default without --tune and --partition "
                    "collage)");
  command
      ->add_option(
          "--keep-weights", args->keep_weights,
          "Initializers of the model that stay parameters, which a program can set; `all`: "
          "those of more than one floating-point number")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--verify", options.verify,
                    "Compare each partition with the reference evaluation");
  command
      ->add_flag("--bundle{beside}", args->bundle,
                 "Copy the vendor libraries that the result needs beside it; --bundle=inside puts "
                 "them into it, so that the result is one file")
      ->check(CLI::IsMember({"beside", "inside"}));
  command->add_flag("--reproducible", options.reproducible,
                    "Do not note in the result where this machine has the vendor libraries, so "
                    "that its bytes are equal wherever it is compiled (--bundle notes nothing, "
                    "either)");
  command->add_option("--report", options.report,
                      "Write a page about the compilation, as HTML: placement, kernels, memory, "
                      "constants, times");
  command->add_option("--depfile", options.depfile,
                      "Write which files the library is made of, as a rule for make and ninja");
  CLI::Option* json =
      command->add_flag("--json", args->json, "Print the report as one JSON object");
  command
      ->add_flag("--events", args->events,
                 "Print what happens as JSON, an object a line: stages, how far they are, "
                 "diagnostics, the report")
      ->excludes(json);
  command->callback([&chosen, args, command] {
    args->has_trial = command->count("--max-error") + command->count("--inputs") > 0;
    args->has_budget = command->count("--budget") + command->count("--candidates") > 0;
    chosen = [args] { return compile(*args); };
  });
}

}  // namespace tessera::tools
