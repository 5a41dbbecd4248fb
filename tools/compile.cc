// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "driver/placement_table.h"
#include "support/json_text.h"
#include "tools/collage_table.h"
#include "tools/progress_bar.h"
#include "tools/target_options.h"
#include "tools/tuning_table.h"

namespace tessera::tools {
namespace {

struct CompileArgs {
  ModelOptionTexts model;
  std::vector<std::string> keep_weights;
  std::string bundle;  // "", "beside", "inside"
  bool json = false, no_measure = false, has_budget = false;
};

nlohmann::ordered_json precision_json(const driver::CompileReport& r) {
  nlohmann::ordered_json kept = nlohmann::ordered_json::array();
  for (const auto& [op, reason, count] : r.precision->kept) {
    kept.push_back({{"operator", op}, {"count", count}, {"reason", reason}});
  }
  nlohmann::ordered_json errors = nlohmann::ordered_json::array();
  for (const driver::OutputError& e : r.errors) {
    errors.push_back({{"output", e.output},
                      {"largest_error", e.largest},
                      {"relative_error", e.relative},
                      {"overflown_elements", e.overflown}});
  }
  return {{"dtype", to_string(r.precision->dtype)},
          {"low_operators", r.precision->low},
          {"float32", kept},
          {"errors", errors}};
}

void print_json(const driver::CompileReport& r) {
  nlohmann::ordered_json placement = nlohmann::ordered_json::array();
  for (const driver::PlacementRow& row : r.placement) {
    placement.push_back(
        {{"region", row.region}, {"backend", row.backend}, {"operators", row.operators}});
    if (!row.reason.empty()) placement.back()["reason"] = row.reason;
  }
  nlohmann::ordered_json stages = nlohmann::ordered_json::object();
  for (const driver::StageTime& s : r.stages) stages[s.name] = s.seconds;
  nlohmann::ordered_json json = {{"seconds", r.seconds},
                                 {"peak_bytes", r.peak_bytes},
                                 {"library_bytes", r.library_bytes},
                                 {"weight_bytes", r.weight_bytes},
                                 {"arena_bytes", r.arena_bytes},
                                 {"stages", stages},
                                 {"libraries", r.needed_libraries},
                                 {"placement", placement}};
  if (!r.tuned.empty()) json["tuned"] = tuning_json(r.tuned);
  if (r.collage) json["collage"] = collage_json(*r.collage);
  if (r.precision) json["precision"] = precision_json(r);
  show("{}\n", json_text(json, 2));
}

void print_summary(const driver::CompileReport& r, const std::string& output) {
  if (!r.tuned.empty()) show("\n{}", tuning_table(r.tuned));
  if (r.collage) show("\n{}", collage_table(*r.collage));
  show("\n{}\n", driver::placement_table(r.placement));
  if (r.precision) {
    for (const auto& [op, reason, count] : r.precision->kept) {
      show("float32: {} {}, {}\n", count, op, reason);
    }
  }
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

int compile(const CompileArgs& args) {
  Result<driver::CompileOptions> options = resolve(args.model);
  if (!options) return report(options.error());
  if (args.no_measure && options->tuning.measures) {
    return report(error(Code::kBadOption, {}, "--tune and --no-measure exclude each other")
                      .with_remedy("omit one of them"));
  }
  const bool searches = options->partition == driver::Partition::kCollage;
  if (searches) options->tuning.measures = !args.no_measure;
  if (args.has_budget && !options->tuning.measures) {
    return report(error(Code::kBadOption, {}, "--budget and --candidates are of what is measured")
                      .with_remedy("add --tune or --partition collage, or omit them"));
  }
  if (!args.bundle.empty()) {
    options->bundle = args.bundle == "inside" ? driver::Bundle::kInside : driver::Bundle::kBeside;
  }
  options->kept.names = {args.keep_weights.begin(), args.keep_weights.end()};
  options->kept.all = options->kept.names.erase("all") > 0;
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
  const Result<driver::CompileReport> result = driver::compile(*options, progress);
  bar.clear();
  measuring.clear();
  if (!result) return report(result.error());
  Diagnostics warnings;
  for (const Diagnostic& w : result->warnings) warnings.add(w);
  if (!warnings.empty()) report(warnings);
  args.json ? print_json(*result) : print_summary(*result, options->output);
  return kDone;
}

}  // namespace

void add_compile(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<CompileArgs>();
  CLI::App* command = app.add_subcommand("compile", "Compile a model to one shared library");
  driver::CompileOptions& options = args->model.options;
  command->add_option("model", options.model, "ONNX model, or Relay text (.relay)")->required();
  command->add_option("-o,--output", options.output, "Library to write")->required();
  add_model_options(*command, args->model, {"none", "greedy", "collage"});
  command->get_option("--partition")
      ->description(
          "How regions go to back ends; none: to native code alone; greedy: by the order "
          "of the targets; collage: each to whom it is measured fastest with on this "
          "machine, and the whole no slower than with any back end alone");
  command->add_flag("--tune", options.tuning.measures,
                    "Measure on this machine's GPU what has no record yet, and take the fastest; "
                    "records go to --records, or beside the cached objects");
  add_tuning_options(*command, args->model);
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
  command->add_flag("--json", args->json, "Print the report as one JSON object");
  command->callback([&chosen, args, command] {
    args->has_budget = command->count("--budget") + command->count("--candidates") > 0;
    chosen = [args] { return compile(*args); };
  });
}

}  // namespace tessera::tools
