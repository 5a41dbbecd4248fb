// SPDX-License-Identifier: Apache-2.0
#include "driver/compilation.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/automatic_precision.h"
#include "driver/compilation_timing.h"
#include "driver/device_of_costs.h"
#include "driver/layouts_by_cost.h"
#include "driver/model_loops.h"
#include "driver/native_algorithms.h"
#include "driver/pipeline.h"
#include "driver/placement_table.h"
#include "driver/slow_loops.h"
#include "driver/slow_products.h"
#include "driver/tuning.h"
#include "driver/warnings.h"
#include "driver/weights_json.h"
#include "support/peak_memory.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string what_was_searched(const CollageReport& r) {
  return fmt::format("{} candidates, {} programs, {} measured, {} failed{}{}", r.candidates,
                     r.programs, r.measured, r.failed,
                     r.left == 0 ? "" : fmt::format(", {} left when the budget was spent", r.left),
                     r.dropped == 0 ? "" : fmt::format(", {} partial plans given up", r.dropped));
}

}  // namespace

Result<Prepared> Compilation::prepare() {
  if (!options_.dump_dir.empty()) {
    std::error_code reported_when_written;
    std::filesystem::create_directories(options_.dump_dir, reported_when_written);
  }
  TESSERA_TRY(Module module,
              load_model(options_.model, options_.dims, options_.kept, options_.limits));
  report.loops = model_loops(module);
  // From here on they do not grow: what passes make gives no room for more.
  options_.limits = bindings_of(limits_for(constant_bytes(module), options_.limits));
  module.targets = options_.targets;
  add_warnings(std::exchange(module.warnings, {}));
  add_warnings(doubtful_options(options_.targets));
  const std::size_t kept = module.kept_weights.size();
  done("import", fmt::format("{} nodes, {} constants{}", module.functions.at("main").num_nodes(),
                             module.constants.size(),
                             kept == 0 ? "" : fmt::format(", {} kept weights", kept)));
  const std::vector<DType> widened = widened_types(options_);
  TESSERA_TRY(Widened wide, widen_precision(std::move(module), widened, options_, report.warnings));
  if (!wide.what.empty()) done("widening", wide.what);
  GraphReport of_graph;
  TESSERA_TRY(module, optimize_graph(std::move(wide.module), options_, report.warnings, &of_graph));
  report.weights = std::move(of_graph.weights);
  report.float_operators = std::move(of_graph.float_operators);
  done("simplify", fmt::format("{} nodes", module.functions.at("main").num_nodes()));
  if (!report.weights.empty()) {
    done("weights", "of products: " + what_was_stored(report.weights));
  }
  if (options_.precision != kFloat32) {
    TESSERA_TRY(Reduced reduced,
                reduce_precision(std::move(module), widened, options_, report.warnings));
    module = std::move(reduced.module);
    report.precision = std::move(reduced.report);
    done("precision", reduced.what);
  }
  std::optional<Module> plain;
  if (const auto desired = desired_layouts(options_); !desired.empty()) {
    if (options_.partition == Partition::kCollage) plain = module;
    TESSERA_TRY(module, convert_layouts(std::move(module), desired, options_, report.warnings));
    done("layouts", fmt::format("{}", fmt::join(desired, ", ")));
  }
  TESSERA_TRY(module, with_folded_norms(std::move(module)));
  return Prepared{std::move(module), report, options_.limits, std::move(plain)};
}

Result<Module> Compilation::with_folded_norms(Module module) {
  if (!scales_rows(options_)) return module;
  TESSERA_TRY(module, fold_norms(std::move(module), options_, report.warnings));
  done("norms", fmt::format("{} nodes", module.functions.at("main").num_nodes()));
  return module;
}

Result<void> Compilation::choose_layouts() {
  TESSERA_TRY(LaidOutByCost chosen, lay_out_by_cost(std::move(*prepared_), options_,
                                                    {machines_[here_], *toolchain_, progress_,
                                                     report.warnings, made_.get()}));
  done("layouts", chosen.what);
  TESSERA_TRY(prepared_, with_folded_norms(std::move(chosen.module)));
  return {};
}

void Compilation::start_from(Prepared prepared) {
  report = std::move(prepared.report);
  options_.limits = std::move(prepared.limits);
  prepared_ = std::move(prepared.module);
}

void Compilation::start_before_layouts(Prepared prepared) {
  start_from(std::move(prepared));
  by_layout_ = true;
}

Result<Partitioned> Compilation::partition() {
  if (!prepared_) {
    TESSERA_TRY(Prepared prepared, prepare());
    prepared_ = std::move(prepared.module);
  }
  TESSERA_TRY(link::Toolchain toolchain, find_toolchain());
  toolchain_.emplace(std::move(toolchain));
  TESSERA_TRY_VOID(choose_machines());
  TESSERA_TRY_VOID(recall_made());
  if (by_layout_) TESSERA_TRY_VOID(choose_layouts());
  if (options_.partition == Partition::kCollage && !placer_) {
    auto collage = std::make_unique<CollagePlacer>(options_, machines_[here_], *toolchain_,
                                                   made_.get(), progress_);
    collage_ = collage.get();
    placer_ = std::move(collage);
  }
  TESSERA_TRY(Partitioned parts, partition_module(*std::exchange(prepared_, std::nullopt), options_,
                                                  *toolchain_, placer()));
  add_warnings(std::exchange(parts.warnings, {}));
  if (collage_ != nullptr) {
    add_warnings(std::exchange(collage_->warnings, {}));
    searched = collage_->report;
    done("collage", what_was_searched(*searched));
  }
  return parts;
}

Result<Lowered> Compilation::front_half() {
  TESSERA_TRY(Partitioned parts, partition());
  TESSERA_TRY(Module module, place(std::move(parts)));
  const std::string widening = native_widening(module, options_);
  TESSERA_TRY(module, prepare_native(std::move(module), options_, report.warnings));
  if (!widening.empty()) done("native", widening);
  TESSERA_TRY(Lowered lowered, lower(std::move(module)));
  const std::vector<PlacementRow> rest = native_rows(lowered.module, facts_);
  report.placement.insert(report.placement.end(), rest.begin(), rest.end());
  report.types_left = types_left();
  TESSERA_TRY_VOID(check_required(report.placement, options_.require));
  if (tells_slow_code()) {
    if (auto slow =
            slow_loops(lowered.module, facts_, std::ranges::all_of(machines_, converts_halves))) {
      add_warnings({*std::move(slow)});
    }
  }
  done("lower", fmt::format("{} kernels, arena {} bytes", lowered.module.externs.size(),
                            plan::pool_bytes(lowered.plan)));
  return lowered;
}

Result<void> Compilation::choose_machines() {
  const Target cpu = host_target(options_.targets);
  TESSERA_TRY(machines_, machine_codes(cpu, toolchain_->compiler()));
  here_ = best_here(machines_);
  if (machines_.size() == 1 || compute_target(options_.targets).device() == DeviceType::kCpu) {
    return {};
  }
  return fail(error(Code::kBadTarget, {},
                    "-mcpu={}: a library for a GPU has code for one processor of its host",
                    cpu.get_string("mcpu"))
                  .with_remedy("name the one whose instructions all of the machines have"));
}

std::vector<DType> Compilation::types_left() const {
  const bool is_on_cpu = compute_target(options_.targets).device() == DeviceType::kCpu;
  const bool has_products = std::ranges::any_of(report.placement, [](const PlacementRow& row) {
    return heavy_operator(row) != nullptr && row.backend != "native";
  });
  if (!is_on_cpu || !has_products || options_.precision != kFloat32) return {};
  return types_to_try(options_);
}

bool Compilation::tells_slow_code() const {
  const bool is_on_cpu = compute_target(options_.targets).device() == DeviceType::kCpu;
  return options_.partition != Partition::kNone && is_on_cpu;
}

Result<void> Compilation::tune() {
  TESSERA_TRY(const Partitioned parts, partition());
  const std::vector<byoc::TuningTask> tasks = tuning_tasks(parts);
  if (!tasks.empty()) {
    TESSERA_TRY(const std::string path, records_path(options_));
    TESSERA_TRY_VOID(warn_of_skipped(path, tasks, report.warnings));
  }
  TESSERA_TRY_VOID(measure_tasks(tasks));
  TESSERA_TRY_VOID(make_parts(parts, !tasks.empty()));
  TESSERA_TRY(const Module native, prepare_native(parts.outcome.module, options_, report.warnings));
  TESSERA_TRY_VOID(measure_native(native));
  report.seconds = seconds_since(begin_);
  report.peak_bytes = tree_peak_bytes();
  return {};
}

Result<void> Compilation::recall_made() {
  if (options_.partition == Partition::kNone) return {};
  const std::vector<byoc::BackendChoice> choices = placing_choices(options_);
  TESSERA_TRY(made_, RecordedParts::open(options_, choices));
  for (const byoc::BackendChoice& choice : choices) {
    TESSERA_TRY_VOID(choice.backend->recall(choice.target, made_.get()));
  }
  return {};
}

// Of what was measured, where there is something to measure.
Result<void> Compilation::make_parts(const Partitioned& parts, bool has_measurements) {
  if (made_ == nullptr) return {};
  std::optional<tune::RecordStore> records;
  if (has_measurements) {
    TESSERA_TRY(const std::string path, records_path(options_));
    TESSERA_TRY(records, tune::RecordStore::open_to_read(path));
  }
  for (const byoc::BackendChoice& choice : parts.choices) {
    if (!choice.backend->makes_on_device(choice.target)) continue;
    byoc::CompileContext context{
        *toolchain_, options_.jobs, false, {}, records ? &*records : nullptr, made_.get()};
    TESSERA_TRY(const byoc::CompileOutcome compiled,
                choice.backend->compile(parts.outcome.module, choice.target, context));
    add_warnings(std::move(context.warnings));
    for (byoc::Declined declined : compiled.declined) {
      declined.why.severity = Severity::kWarning;
      add_warnings({std::move(declined.why)});
    }
  }
  report.made = made_->num_kept();
  done("parts", fmt::format("of back ends, {} on record", report.made));
  return {};
}

Result<Module> Compilation::place(Partitioned parts) {
  std::optional<tune::RecordStore> records;
  if (options_.tuning.measures || !options_.records.empty()) {
    const auto tasks = tuning_tasks(parts);
    const bool searches = options_.partition == Partition::kCollage;
    if (tasks.empty()) {
      vain_tuning_ = vain_tuning(options_);
    }
    if (options_.tuning.measures && !(searches && tasks.empty())) {
      TESSERA_TRY_VOID(measure_tasks(tasks));
    }
    // With nothing to measure, no file was made.
    if (!tasks.empty() || !(options_.tuning.measures || searches)) {
      TESSERA_TRY(records, read_records(options_, tasks, report.warnings));
    }
  }
  const Kept kept{records ? &*records : nullptr, made_.get()};
  TESSERA_TRY(Placed placed,
              compile_regions(std::move(parts), options_, kept, *toolchain_, placer()));
  report.placement = std::move(placed.rows);
  add_warnings(std::move(placed.warnings));
  Module module = std::move(placed.module);
  facts_ = std::move(placed);
  if (tells_slow_code()) {
    if (auto slow = slow_products(module, facts_)) add_warnings({*std::move(slow)});
  }
  done("place", fmt::format("{} regions on back ends", report.placement.size()));
  return module;
}

Result<void> Compilation::measure_tasks(const std::vector<byoc::TuningTask>& tasks) {
  const Clock::time_point begin = Clock::now();
  TESSERA_TRY(report.tuned, measure(tasks, options_, *toolchain_, progress_));
  tuning_seconds_ = seconds_since(begin);
  std::size_t measured = 0, failed = 0;
  for (const tune::TuneRow& row : report.tuned) {
    measured += row.measured;
    failed += row.failed;
  }
  done("tune", fmt::format("{} products, {} configurations measured, {} failed",
                           report.tuned.size(), measured, failed));
  return check_measured(report.tuned, report.warnings);
}

Result<Lowered> Compilation::lower(Module module) {
  TESSERA_TRY(schedule::MeasuredAlgorithms known, known_algorithms());
  TESSERA_TRY(Lowered lowered, lower_module(module, options_, machines_, &known));
  if (vain_tuning_ && known.asked().empty()) add_warnings({*vain_tuning_});
  if (algorithms_from_ || !known.is_any_unknown()) return lowered;
  if (!options_.tuning.measures) {
    if (!options_.records.empty()) add_warnings({unmeasured_algorithms(known)});
    return lowered;
  }
  TESSERA_TRY_VOID(measure_native(module));
  TESSERA_TRY(known, known_algorithms());
  return lower_module(std::move(module), options_, machines_, &known);
}

Result<schedule::MeasuredAlgorithms> Compilation::known_algorithms() const {
  if (algorithms_from_) return algorithms_from_();
  if (!options_.tuning.measures && options_.records.empty()) return schedule::MeasuredAlgorithms();
  TESSERA_TRY(const std::string path, records_path(options_));
  std::error_code is_not_there;
  const std::uintmax_t bytes = std::filesystem::file_size(path, is_not_there);
  if (is_not_there || bytes == 0) return schedule::MeasuredAlgorithms();
  TESSERA_TRY(const tune::RecordStore records, tune::RecordStore::open_to_read(path));
  const Result<std::string> device = device_of_costs(options_, records);
  // Of no GPU, or of several: rules choose.
  if (!device) return schedule::MeasuredAlgorithms();
  return recorded_algorithms(records, *device);
}

Diagnostic Compilation::unmeasured_algorithms(const schedule::MeasuredAlgorithms& known) const {
  return warning(Code::kBadOption, {},
                 "the records in `{}` have nothing of this machine for {} of {} kinds of work of "
                 "generated code, whose algorithms are chosen by a rule",
                 options_.records, known.num_unknown(), known.asked().size())
      .with_remedy("`tessera tune` measures them");
}

Result<void> Compilation::measure_native(const Module& module) {
  const MachineCode& code = machines_[here_];
  TESSERA_TRY(std::vector<AlgorithmTask> tasks, algorithm_tasks(module, code));
  if (tasks.empty()) return {};
  TESSERA_TRY(const std::string device, device_to_measure_on(options_));
  TESSERA_TRY(const std::string path, records_path(options_));
  TESSERA_TRY(tune::RecordStore records, tune::RecordStore::open(path));
  TESSERA_TRY(std::vector<tune::TuneRow> rows,
              measure_algorithms(std::move(tasks), module,
                                 {code, *toolchain_, records, device,
                                  timing_of_parts(options_, constant_bytes(module)),
                                  options_.tuning.budget_s - tuning_seconds_}));
  const auto measured =
      std::ranges::count_if(rows, [](const auto& row) { return row.measured > 0; });
  done("algorithms", fmt::format("of generated code for {} kinds of work, {} measured now",
                                 rows.size(), measured));
  for (const tune::TuneRow& row : rows) {
    if (row.problem.empty()) continue;
    add_warnings({warning(Code::kToolFailed, {}, "not all algorithms of `{}` are measured: {}",
                          row.title, row.problem)
                      .with_remedy("measure again, with more --budget if it was spent")});
  }
  std::move(rows.begin(), rows.end(), std::back_inserter(report.tuned));
  return {};
}

Result<link::Toolchain> Compilation::find_toolchain() const {
  link::ToolchainOptions toolchain;
  toolchain.jobs =
      options_.jobs > 0 ? options_.jobs : static_cast<int>(std::thread::hardware_concurrency());
  toolchain.compiler_limit_s = options_.compiler_limit_s;
  toolchain.source_folder = options_.dump_dir;
  toolchain.progress = progress_.sources;
  return link::Toolchain::find(toolchain);
}

void Compilation::add_warnings(std::vector<Diagnostic> warnings) {
  std::move(warnings.begin(), warnings.end(), std::back_inserter(report.warnings));
}

void Compilation::done(std::string stage, const std::string& what) {
  report.stages.push_back({std::move(stage), seconds_since(stage_begin_), what});
  if (progress_.stage) progress_.stage(report.stages.back(), what);
  stage_begin_ = Clock::now();
  warn_of_cache();
}

void Compilation::warn_of_cache() {
  if (!toolchain_ || warned_of_cache_) return;
  const auto failure = toolchain_->cache().first_failure();
  if (!failure) return;
  warned_of_cache_ = true;
  report.warnings.push_back(objects_not_kept(toolchain_->cache().folder(), *failure));
}

Diagnostics Compilation::with_warnings(Diagnostics problems) {
  warn_of_cache();
  const std::vector<Diagnostic> errors = problems.list;
  for (Diagnostic& w : report.warnings) {
    const bool is_known = std::any_of(errors.begin(), errors.end(), [&](const Diagnostic& e) {
      return w.message.find(e.message) != std::string::npos;
    });
    if (!is_known) problems.add(std::move(w));
  }
  return problems;
}

}  // namespace tessera::driver
