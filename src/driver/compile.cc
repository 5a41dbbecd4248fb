// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/kernel_library.h"
#include "driver/metadata.h"
#include "driver/model_loops.h"
#include "driver/outputs.h"
#include "driver/pipeline.h"
#include "driver/placement.h"
#include "driver/report_page.h"
#include "driver/slow_products.h"
#include "driver/tuning.h"
#include "driver/vendor_libraries.h"
#include "driver/verify.h"
#include "driver/warnings.h"
#include "link/library_file.h"
#include "runtime/program.h"
#include "support/files.h"
#include "support/peak_memory.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kVerifySeconds = 60;

Tensor zeros_like(const Tensor& t) {
  const std::vector<std::int64_t> zeros(static_cast<std::size_t>(t.num_elements()));
  return tensor_from_ints(t.shape, t.dtype, zeros);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One compilation: the stages in order, each timed and announced.
class Compilation {
 public:
  Compilation(const CompileOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  // The graph, cut into regions of back ends.
  Result<Partitioned> partition() {
    begin_ = stage_begin_ = Clock::now();
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
    TESSERA_TRY(Widened wide,
                widen_precision(std::move(module), widened, options_, report.warnings));
    if (!wide.what.empty()) done("widening", wide.what);
    TESSERA_TRY(module, optimize_graph(std::move(wide.module), options_, report.warnings));
    done("simplify", fmt::format("{} nodes", module.functions.at("main").num_nodes()));
    if (options_.precision != kFloat32) {
      TESSERA_TRY(Reduced reduced,
                  reduce_precision(std::move(module), widened, options_, report.warnings));
      module = std::move(reduced.module);
      report.precision = std::move(reduced.report);
      done("precision", reduced.what);
    }
    if (const auto desired = desired_layouts(options_); !desired.empty()) {
      TESSERA_TRY(module, convert_layouts(std::move(module), desired, options_, report.warnings));
      done("layouts", fmt::format("{}", fmt::join(desired, ", ")));
    }
    if (scales_rows(options_)) {
      TESSERA_TRY(module, fold_norms(std::move(module), options_, report.warnings));
      done("norms", fmt::format("{} nodes", module.functions.at("main").num_nodes()));
    }
    TESSERA_TRY(link::Toolchain toolchain, find_toolchain());
    toolchain_.emplace(std::move(toolchain));
    TESSERA_TRY(code_, machine_code(host_target(options_.targets), toolchain_->compiler()));
    TESSERA_TRY(Partitioned parts, partition_module(std::move(module), options_, *toolchain_));
    add_warnings(std::exchange(parts.warnings, {}));
    return parts;
  }

  Result<Lowered> front_half() {
    TESSERA_TRY(Partitioned parts, partition());
    TESSERA_TRY(Module module, place(std::move(parts)));
    TESSERA_TRY(module, prepare_native(std::move(module), options_, report.warnings));
    TESSERA_TRY(Lowered lowered, lower_module(std::move(module), options_));
    const std::vector<PlacementRow> rest = native_rows(lowered.module, facts_);
    report.placement.insert(report.placement.end(), rest.begin(), rest.end());
    TESSERA_TRY_VOID(check_required(report.placement, options_.require));
    done("lower", fmt::format("{} kernels, arena {} bytes", lowered.module.externs.size(),
                              lowered.plan.pools[0].bytes));
    return lowered;
  }

  Result<void> make_library() {
    TESSERA_TRY(const Lowered lowered, front_half());
    if (options_.verify) {
      TESSERA_TRY_VOID(verify(lowered));
    }
    return write_library(lowered);
  }

  Result<void> write_library(const Lowered& lowered) {
    report.weight_bytes = emit::layout_weights(lowered.module).bytes;
    report.arena_bytes = static_cast<std::uint64_t>(lowered.plan.pools[0].bytes);
    collect_libraries(lowered.module);
    emit::ProgramInfo info = program_info(lowered);
    std::vector<link::WeightPiece> inside;
    if (options_.bundle != Bundle::kNone) {
      TESSERA_TRY(info.bundled, bundled_files(lowered.module));
      if (options_.bundle == Bundle::kInside) {
        TESSERA_TRY(inside, put_inside(lowered.module, report.weight_bytes, info.bundled));
      }
      for (const auto& [name, file] : info.bundled) info.build_id += name + file.hash;
      info.build_id = hash_text(info.build_id).hex();
    }
    TESSERA_TRY(link::LinkInput input,
                build_objects(lowered, info, emit::ProgramKind::kModel, code_, *toolchain_));
    report.is_one_file = !inside.empty();
    if (info.has_packed_files()) input.runtime_archives.emplace_back("inflate");
    for (const link::WeightPiece& file : inside) {
      input.weights_bytes = file.offset + file.blob->bytes().size();
      input.weights.push_back(file);
    }
    done("compile kernels", fmt::format("{} objects", input.objects.size()));
    if (options_.bundle == Bundle::kBeside) {
      TESSERA_TRY_VOID(bundle_libraries(lowered.module, options_.output));
    } else if (options_.bundle == Bundle::kNone && !options_.reproducible) {
      report.vendor_folders = input.vendor_folders = vendor_library_folders(lowered.module);
    }
    TESSERA_TRY_VOID(link::link_library(*toolchain_, input, options_.output));
    std::error_code has_no_size;  // a device has none
    const std::uintmax_t bytes = std::filesystem::file_size(options_.output, has_no_size);
    report.library_bytes = has_no_size ? 0 : bytes;
    done("link", fmt::format("{} bytes", report.library_bytes));
    report.seconds = seconds_since(begin_);
    report.peak_bytes = tree_peak_bytes();
    return write_report(lowered, input.objects);
  }

  // --verify: one run in this process on random inputs, every distinct call compared on the way.
  Result<void> verify(const Lowered& lowered) {
    Verifier verifier(lowered.module, kVerifySeconds);
    auto started =
        start(lowered, {},
              [&](const std::string& symbol, std::span<const Tensor> inputs,
                  std::span<const Tensor> outputs) { verifier.compare(symbol, inputs, outputs); });
    if (!started) {
      Diagnostic& why = started.error().list.front();
      if (why.remedy.empty()) why.remedy = "--verify runs the model on this machine: omit it";
    }
    TESSERA_TRY(const std::unique_ptr<exec::Session> session, std::move(started));
    const std::vector<std::vector<std::int64_t>> shapes =
        likely_input_shapes(lowered.module.prim_funcs.at("main"), lowered.module.symbols);
    std::vector<Tensor> inputs;
    for (exec::PortInfo port : session->inputs()) {
      port.shape = shapes[inputs.size()];
      inputs.push_back(exec::random_input(port, inputs.size()));
    }
    Result<std::vector<Tensor>> ran = session->run(inputs);
    if (!ran && ran.error().list.front().code == Code::kIndexOutOfRange) {
      // Zero is an index wherever there is one.
      for (Tensor& t : inputs) {
        if (t.dtype.is_int()) t = zeros_like(t);
      }
      ran = session->run(inputs);
    }
    TESSERA_TRY(const std::vector<Tensor> outputs, std::move(ran));
    TESSERA_TRY(const VerifySummary summary, verifier.finish());
    done("verify", to_string(summary));
    if (options_.precision == kFloat32) return {};
    return compare_with_float32(session->outputs(), inputs, outputs);
  }

  // The same inputs through the model as it came.
  Result<void> compare_with_float32(const std::vector<exec::PortInfo>& ports,
                                    const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& outputs) {
    CompileOptions reference = options_;
    reference.precision = kFloat32;
    reference.partition = Partition::kNone;
    reference.require.clear();
    reference.dump_dir.clear();
    TESSERA_TRY(const std::unique_ptr<exec::Session> session, prepare_in_process(reference, {}));
    TESSERA_TRY(const std::vector<Tensor> expected, session->run(inputs));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      report.errors.push_back(output_error(ports[i].name, outputs[i], expected[i]));
      const OutputError& e = report.errors.back();
      if (e.overflown > 0) report.warnings.push_back(overflow_of(e, options_.precision));
    }
    done("float32 model", to_string(report.errors));
    return {};
  }

  // Told once.
  void warn_of_cache() {
    if (!toolchain_ || warned_of_cache_) return;
    const auto failure = toolchain_->cache().first_failure();
    if (!failure) return;
    warned_of_cache_ = true;
    report.warnings.push_back(objects_not_kept(toolchain_->cache().folder(), *failure));
  }

  Result<std::unique_ptr<exec::Session>> start(Lowered lowered, const exec::SessionOptions& session,
                                               exec::CallObserver observer = {}) {
    const emit::ProgramInfo info = program_info(lowered);
    TESSERA_TRY(const KernelLibrary kernels,
                KernelLibrary::load(std::move(lowered), info, code_, *toolchain_));
    return kernels.open_main(session, std::move(observer));
  }

  Result<void> tune() {
    TESSERA_TRY(const Partitioned parts, partition());
    const std::vector<byoc::TuningTask> tasks = tuning_tasks(parts);
    if (!tasks.empty()) {
      TESSERA_TRY(const std::string path, records_path(options_));
      TESSERA_TRY_VOID(warn_of_skipped(path, tasks, report.warnings));
    }
    TESSERA_TRY_VOID(measure_tasks(tasks));
    report.seconds = seconds_since(begin_);
    report.peak_bytes = tree_peak_bytes();
    return {};
  }

  // A failure comes with the warnings before it, which may say why; not with those that it repeats.
  Diagnostics with_warnings(Diagnostics problems) {
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

  CompileReport report;

 private:
  void add_warnings(std::vector<Diagnostic> warnings) {
    std::move(warnings.begin(), warnings.end(), std::back_inserter(report.warnings));
  }

  void done(std::string stage, const std::string& what) {
    report.stages.push_back({std::move(stage), seconds_since(stage_begin_), what});
    if (progress_.stage) progress_.stage(report.stages.back(), what);
    stage_begin_ = Clock::now();
    warn_of_cache();
  }

  Result<void> write_report(const Lowered& lowered, const std::vector<std::string>& objects) {
    if (options_.report.empty()) return {};
    TESSERA_TRY(const link::LibraryFile file, link::read_library_file(options_.output));
    const std::string page = report_page({options_, report, lowered, objects, file.needed});
    if (auto written = write_atomically(options_.report, page); !written) {
      return fail(error(Code::kFileNotWritable, {}, "cannot write {}", written.error().text())
                      .with_remedy("choose another file for --report"));
    }
    return {};
  }

  Result<link::Toolchain> find_toolchain() const {
    link::ToolchainOptions toolchain;
    toolchain.jobs =
        options_.jobs > 0 ? options_.jobs : static_cast<int>(std::thread::hardware_concurrency());
    toolchain.compiler_limit_s = options_.compiler_limit_s;
    toolchain.source_folder = options_.dump_dir;
    toolchain.progress = progress_.sources;
    return link::Toolchain::find(toolchain);
  }

  Result<void> measure_tasks(const std::vector<byoc::TuningTask>& tasks) {
    TESSERA_TRY(report.tuned, measure(tasks, options_, *toolchain_, progress_));
    std::size_t measured = 0, failed = 0;
    for (const tune::TuneRow& row : report.tuned) {
      measured += row.measured;
      failed += row.failed;
    }
    done("tune", fmt::format("{} products, {} configurations measured, {} failed",
                             report.tuned.size(), measured, failed));
    return check_measured(report.tuned, report.warnings);
  }

  // What is measured is measured before it is read.
  Result<Module> place(Partitioned parts) {
    std::optional<tune::RecordStore> records;
    if (options_.tuning.measures || !options_.records.empty()) {
      const auto tasks = tuning_tasks(parts);
      if (tasks.empty()) {
        if (auto vain = vain_tuning(options_)) add_warnings({*std::move(vain)});
      }
      if (options_.tuning.measures) {
        TESSERA_TRY_VOID(measure_tasks(tasks));
      }
      // With nothing to measure, no file was made.
      if (!options_.tuning.measures || !tasks.empty()) {
        TESSERA_TRY(records, read_records(options_, tasks, report.warnings));
      }
    }
    TESSERA_TRY(Placed placed, compile_regions(std::move(parts), options_,
                                               records ? &*records : nullptr, *toolchain_));
    report.placement = std::move(placed.rows);
    add_warnings(std::move(placed.warnings));
    Module module = std::move(placed.module);
    facts_ = std::move(placed);
    const bool is_on_cpu = compute_target(options_.targets).device() == DeviceType::kCpu;
    if (options_.partition == Partition::kGreedy && is_on_cpu) {
      if (auto slow = slow_products(module, facts_)) add_warnings({*std::move(slow)});
    }
    done("place", fmt::format("{} regions on back ends", report.placement.size()));
    return module;
  }

  void collect_libraries(const Module& module) {
    std::set<std::string> vendor;
    for (const Artifact& a : module.artifacts) {
      vendor.insert(a.vendor_libraries.begin(), a.vendor_libraries.end());
    }
    report.needed_libraries.assign(vendor.begin(), vendor.end());
    if (compute_target(options_.targets).device() == DeviceType::kCuda) {
      report.needed_libraries.insert(report.needed_libraries.begin(), "libcuda.so.1");
    }
  }

  // The build id names what went in: the same input, options and compiler give the same id.
  emit::ProgramInfo program_info(const Lowered& lowered) const {
    emit::ProgramInfo info;
    info.target = short_text(compute_target(options_.targets));
    info.cpu_arch = tessera_host_arch();
    info.cpu_features = code_.cpu_features;
    info.metadata_json = metadata_json(lowered, report, info.target);
    std::string key = info.metadata_json + toolchain_->identity();
    for (const auto& piece : emit::layout_weights(lowered.module).pieces) {
      key += piece.blob->hash().hex();
    }
    info.build_id = hash_text(key).hex();
    return info;
  }

  CompileOptions options_;
  const Progress progress_;
  Clock::time_point begin_, stage_begin_;
  std::optional<link::Toolchain> toolchain_;
  MachineCode code_;
  PlacementFacts facts_;
  bool warned_of_cache_ = false;
};

}  // namespace

Result<CompileReport> compile(const CompileOptions& options, const Progress& progress) {
  TESSERA_TRY_VOID(check_outputs(options));
  Compilation compilation(options, progress);
  const Result<void> done = compilation.make_library();
  if (!done) return fail(compilation.with_warnings(done.error()));
  return std::move(compilation.report);
}

Result<PlacedModel> place_model(const CompileOptions& options) {
  Compilation compilation(options, {});
  Result<Lowered> lowered = compilation.front_half();
  if (!lowered) return fail(compilation.with_warnings(lowered.error()));
  return PlacedModel{std::move(compilation.report), std::move(lowered->module)};
}

Result<CompileReport> tune(const CompileOptions& options, const Progress& progress) {
  Compilation compilation(options, progress);
  const Result<void> done = compilation.tune();
  if (!done) return fail(compilation.with_warnings(done.error()));
  return std::move(compilation.report);
}

Result<std::unique_ptr<exec::Session>> prepare_in_process(
    const CompileOptions& options, const exec::SessionOptions& session,
    const std::function<void(const Diagnostic&)>& warn) {
  Compilation compilation(options, {});
  const auto start = [&]() -> Result<std::unique_ptr<exec::Session>> {
    TESSERA_TRY(Lowered lowered, compilation.front_half());
    return compilation.start(std::move(lowered), session);
  };
  auto started = start();
  if (!started) return fail(compilation.with_warnings(started.error()));
  compilation.warn_of_cache();
  for (const Diagnostic& warning : compilation.report.warnings) {
    if (warn) warn(warning);
  }
  return started;
}

}  // namespace tessera::driver
