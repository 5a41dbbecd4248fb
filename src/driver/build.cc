// SPDX-License-Identifier: Apache-2.0
#include "driver/build.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "byoc/function_at_a_time.h"
#include "driver/artifacts.h"
#include "driver/dimensions.h"
#include "driver/pipeline.h"
#include "emit/cuda_kernel.h"
#include "emit/kernel.h"
#include "emit/payloads.h"
#include "link/elf_object.h"
#include "lower/main.h"
#include "plan/device.h"
#include "plan/in_place.h"
#include "plan/order.h"
#include "schedule/schedule.h"
#include "support/files.h"
#include "tir/print.h"
#include "tir/verify.h"
#include "tir/walk.h"
#include "types/gpu_arch.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

// The host program is called once a run: its own speed does not matter, its compile time does.
const std::vector<std::string> kHostFlags = {"-O1"};

// The compiler takes longer to begin than for a kernel.
constexpr std::size_t kCudaKernelsPerUnit = 12;

std::vector<std::string> cuda_flags(const Target& cuda) {
  std::vector<std::string> flags = {gencode_flag(cuda.get_string("arch"), cuda.get_bool("ptx"))};
  if (!cuda.get_bool("dependent_launch")) flags.emplace_back("-DTK_DEPENDENT_LAUNCH=0");
  return flags;
}

struct KernelsPerUnit {
  std::size_t of_cpu, of_device;
};

// Whatever machine it is compiled on: a library has the same bytes.
KernelsPerUnit units_of_models(const MachineCode& code) {
  return {code.kernels_per_unit, kCudaKernelsPerUnit};
}

// What is only measured: few kernels are spread over all compilers that run at once.
KernelsPerUnit units_of_entries(const Module& module, const MachineCode& code, int compilers) {
  const auto num_kernels =
      static_cast<std::size_t>(std::count_if(module.prim_funcs.begin(), module.prim_funcs.end(),
                                             [](const auto& f) { return !f.second.is_host; }));
  const auto at_once = static_cast<std::size_t>(std::max(compilers, 1));
  const std::size_t share = std::max<std::size_t>(1, (num_kernels + at_once - 1) / at_once);
  const KernelsPerUnit most = units_of_models(code);
  return {std::min(share, most.of_cpu), std::min(share, most.of_device)};
}

// Names of the jobs begin with `prefix`.
std::vector<CompileJob> kernel_jobs(const Module& module, const MachineCode& code,
                                    KernelsPerUnit units, const std::string& prefix = "") {
  const Target target = compute_target(module.targets);
  std::vector<CompileJob> jobs;
  using Unit = std::map<std::string, tir::PrimFunc>;
  Unit of_cpu, of_device;
  const auto flush = [&](Unit& unit) {
    if (unit.empty()) return;
    const std::string name = fmt::format("{}kernels_{}", prefix, jobs.size());
    if (&unit == &of_device) {
      jobs.push_back({name, emit::emit_cuda_kernels(unit), "cu", cuda_flags(target)});
    } else {
      jobs.push_back({name, emit::emit_kernels(unit), "cc", code.flags});
    }
    unit.clear();
  };
  for (const auto& [symbol, f] : module.prim_funcs) {
    if (f.is_host) continue;
    const bool on_device =
        !is_on_host(main_memory(target.device())) && !plan::computes_on_cpu(module, symbol);
    Unit& unit = on_device ? of_device : of_cpu;
    unit.emplace(symbol, f);
    if (unit.size() == (on_device ? units.of_device : units.of_cpu)) flush(unit);
  }
  flush(of_cpu);
  flush(of_device);
  return jobs;
}

// What all artifacts together name in one of their lists.
std::vector<std::string> names_in_all(const Module& module,
                                      std::vector<std::string> Artifact::*list) {
  std::set<std::string> names;
  for (const Artifact& a : module.artifacts) names.insert((a.*list).begin(), (a.*list).end());
  return {names.begin(), names.end()};
}

Result<void> dump_text(const std::string& dir, const std::string& name, const std::string& text) {
  if (dir.empty()) return {};
  if (auto written = write_atomically(dir + "/" + name, text); !written) {
    return fail(error(Code::kFileNotWritable, {}, "cannot write {}", written.error().text())
                    .with_remedy("choose another folder for --dump-dir"));
  }
  return {};
}

// What the back ends will interpret at run time, where it is a graph: as JSON, one a partition.
Result<void> dump_graphs(const Module& module, const std::string& dump_dir) {
  for (const Artifact& a : module.artifacts) {
    if (a.kind != ArtifactKind::kRuntimeModule || !a.payload.starts_with('{')) continue;
    TESSERA_TRY_VOID(dump_text(dump_dir, a.symbols.at(0) + ".json", a.payload));
  }
  return {};
}

// Payloads as objects, of which each has few enough sections.
void add_payloads(const Module& module, std::vector<std::string>& objects) {
  constexpr std::size_t kMostSections = 4096;
  std::vector<link::DataSection> sections;
  const auto flush = [&] {
    if (!sections.empty()) objects.push_back(link::make_elf_object(sections));
    sections.clear();
  };
  for (const emit::Payload& p : emit::payloads(module)) {
    sections.push_back({.section = ".tessera.payloads",
                        .symbol = p.symbol,
                        .align_bytes = emit::kPayloadAlignBytes,
                        .content = std::string(p.bytes)});
    if (sections.size() == kMostSections) flush();
  }
  flush();
}

// The loop IR that is about to be emitted, as text beside the other dumps; a violation of its rules
// is our bug.
Result<void> check_and_dump(const Module& module, const std::string& dump_dir) {
  std::string text;
  for (const auto& [name, f] : module.prim_funcs) {
    text += tir::print(f, name) + "\n";
  }
  TESSERA_TRY_VOID(dump_text(dump_dir, "loops.tir", text));
  for (const auto& [name, f] : module.prim_funcs) {
    const auto legal = tir::verify(f, name);
    TESSERA_CHECK(legal, "loop IR of `{}`: {}", name, legal.error().list.front().message);
  }
  return {};
}

Result<plan::MemoryPlan> plan_of_main(const Module& lowered, const CompileOptions& options) {
  const auto main = lowered.prim_funcs.find("main");
  TESSERA_CHECK(main != lowered.prim_funcs.end(), "lowering left no host program");
  return plan::make_plan(main->second, lowered, options.memory);
}

}  // namespace

std::vector<std::vector<std::int64_t>> likely_shapes(const Lowered& lowered) {
  return likely_input_shapes(lowered.module.prim_funcs.at("main"), lowered.module.symbols);
}

Result<Module> lower_functions(Module module, const Target& target, const std::string& dump_dir,
                               schedule::MeasuredAlgorithms* measured) {
  TESSERA_TRY(module, lower::lower(std::move(module)));
  module = schedule::schedule(std::move(module), target, measured);
  for (auto& [name, f] : module.prim_funcs) {
    if (f.is_host) f = plan::with_least_alive(f, module);
  }
  module = plan::mark_in_place(std::move(module));
  TESSERA_TRY_VOID(check_and_dump(module, dump_dir));
  return module;
}

namespace {

// Calls of kernels by other symbols.
class Renamed final : public tir::Mutator {
 public:
  explicit Renamed(const std::map<std::string, std::string>& symbols) : symbols_(symbols) {}
  using Mutator::mutate;
  tir::Stmt mutate(const tir::Stmt& s) override {
    const auto* call = s.as<tir::CallKernel>();
    const auto found = call == nullptr ? symbols_.end() : symbols_.find(call->symbol);
    if (found == symbols_.end()) return Mutator::mutate(s);
    return tir::CallKernel::make(found->second, call->inputs, call->outputs, call->dims);
  }

 private:
  const std::map<std::string, std::string>& symbols_;
};

// Kernels of one processor beside those of others.
Module with_symbols_of(const std::string& processor, Module module) {
  std::map<std::string, std::string> symbols;
  for (const auto& [symbol, f] : module.prim_funcs) {
    if (f.is_host) continue;
    symbols[symbol] = symbol + "_" + c_identifier(processor);
  }
  std::map<std::string, tir::PrimFunc> functions;
  for (auto& [symbol, f] : module.prim_funcs) {
    const auto renamed = symbols.find(symbol);
    if (renamed == symbols.end()) f.body = Renamed(symbols).mutate(f.body);
    functions.emplace(renamed == symbols.end() ? symbol : renamed->second, std::move(f));
  }
  module.prim_funcs = std::move(functions);
  const auto rename = [](auto& by_symbol, const std::string& before, const std::string& after) {
    auto entry = by_symbol.extract(before);
    if (entry.empty()) return;
    entry.key() = after;
    by_symbol.insert(std::move(entry));
  };
  for (const auto& [before, after] : symbols) {
    rename(module.externs, before, after);
    rename(module.functions, before, after);
  }
  return module;
}

std::vector<const Module*> modules_of(const Lowered& lowered) {
  std::vector<const Module*> modules = {&lowered.module};
  for (const auto& other : lowered.others) modules.push_back(&other.module);
  return modules;
}

}  // namespace

Result<Lowered> lower_module(Module module, const CompileOptions& options) {
  MachineCode only;
  only.processor = host_target(options.targets).get_string("mcpu");
  return lower_module(std::move(module), options, {&only, 1});
}

Result<Lowered> lower_module(Module module, const CompileOptions& options,
                             std::span<const MachineCode> machines,
                             schedule::MeasuredAlgorithms* measured) {
  const Target target = compute_target(options.targets);
  Lowered lowered;
  TESSERA_TRY(lowered.module, lower_functions(module, target_for(target, machines.front()),
                                              options.dump_dir, measured));
  TESSERA_TRY(lowered.plan, plan_of_main(lowered.module, options));
  for (const MachineCode& code : machines.subspan(1)) {
    TESSERA_TRY(Module other, lower_functions(module, target_for(target, code), "", measured));
    other = with_symbols_of(code.processor, std::move(other));
    TESSERA_TRY(plan::MemoryPlan plan, plan_of_main(other, options));
    lowered.others.push_back({code, std::move(other), std::move(plan)});
  }
  TESSERA_TRY(lowered.plan.constants,
              plan::plan_constants(modules_of(lowered), options.memory.pools));
  TESSERA_TRY_VOID(dump_text(options.dump_dir, "plan.txt", plan::print_plan(lowered.plan)));
  TESSERA_TRY_VOID(dump_graphs(lowered.module, options.dump_dir));
  return lowered;
}

Lowered lowered_for(Lowered lowered, std::size_t chosen) {
  std::vector<OtherMachine> others = std::exchange(lowered.others, {});
  plan::ConstantPlan constants = std::move(lowered.plan.constants);
  constants.need_of = {constants.need_of[chosen]};
  if (chosen > 0) {
    lowered = {std::move(others[chosen - 1].module), std::move(others[chosen - 1].plan)};
  }
  lowered.plan.constants = std::move(constants);
  return lowered;
}

std::vector<emit::WeightsLayout> layout_weights(const Lowered& lowered,
                                                const emit::PackedBlobs& packed) {
  return emit::layout_weights(modules_of(lowered), lowered.plan.constants, packed);
}

namespace {

std::vector<CompileJob> function_jobs(const Module& module, const MachineCode& code,
                                      KernelsPerUnit units) {
  std::vector<CompileJob> jobs = kernel_jobs(module, code, units);
  for (const Artifact& a : module.artifacts) {
    if (a.kind != ArtifactKind::kCSource) continue;
    jobs.push_back(
        {fmt::format("{}_{}", a.backend, jobs.size()), byoc::c_source(a), "cc", a.compile_flags});
  }
  return jobs;
}

Result<link::LinkInput> build_jobs(const Module& module, std::span<const CompileJob> jobs,
                                   link::Toolchain& toolchain) {
  TESSERA_TRY_VOID(check_artifacts(module));
  link::LinkInput input;
  TESSERA_TRY(input.objects, toolchain.compile(jobs));
  add_payloads(module, input.objects);
  for (const Artifact& a : module.artifacts) {
    if (a.kind == ArtifactKind::kStaticLibrary) input.archives.push_back(a.payload);
  }
  input.runtime_archives = names_in_all(module, &Artifact::runtime_archives);
  input.cuda_libraries = names_in_all(module, &Artifact::cuda_libraries);
  if (!is_on_host(compute_space(module.targets))) {
    input.runtime_archives.emplace_back("cuda_runtime");
    input.cuda_libraries.emplace_back("libcudart_static.a");
  }
  return input;
}

void add_weights(const emit::WeightsLayout& weights, link::LinkInput& input) {
  for (const auto& piece : weights.pieces) input.weights.push_back({piece.offset, piece.blob});
  input.weights_bytes = weights.bytes;
}

}  // namespace

std::vector<CompileJob> function_sources(const Module& module, const MachineCode& code) {
  return function_jobs(module, code, units_of_models(code));
}

std::vector<CompileJob> program_sources(const Lowered& lowered, const emit::ProgramInfo& info,
                                        emit::ProgramKind kind, const MachineCode& code) {
  return program_sources(lowered, info, kind, code, layout_weights(lowered, info.packed));
}

std::vector<CompileJob> program_sources(const Lowered& lowered, const emit::ProgramInfo& info,
                                        emit::ProgramKind kind, const MachineCode& code,
                                        const std::vector<emit::WeightsLayout>& weights) {
  std::vector<CompileJob> jobs = function_sources(lowered.module, code);
  std::vector<emit::OtherMachine> others;
  for (const auto& [other_code, module, plan] : lowered.others) {
    const std::vector<CompileJob> more =
        kernel_jobs(module, other_code, units_of_models(other_code), other_code.processor + "_");
    jobs.insert(jobs.end(), more.begin(), more.end());
    emit::ProgramInfo other_info = info;
    other_info.cpu_features = other_code.cpu_features;
    other_info.target = short_text(target_for(compute_target(module.targets), other_code));
    others.push_back({module, plan, weights[others.size() + 1], std::move(other_info)});
  }
  jobs.push_back({kind == emit::ProgramKind::kModel ? "host" : "kernel_library",
                  emit::emit_host(lowered.module, lowered.plan, weights[0], info, kind, others),
                  "cc", kHostFlags});
  return jobs;
}

Result<link::LinkInput> build_objects(const Lowered& lowered, const emit::ProgramInfo& info,
                                      emit::ProgramKind kind, const MachineCode& code,
                                      link::Toolchain& toolchain, SharedWeightsFile* shared) {
  std::vector<emit::WeightsLayout> weights = layout_weights(lowered, info.packed);
  if (shared != nullptr) {
    for (emit::WeightsLayout& layout : weights) TESSERA_TRY_VOID(shared->hold(layout));
  }
  TESSERA_TRY(
      link::LinkInput input,
      build_jobs(lowered.module, program_sources(lowered, info, kind, code, weights), toolchain));
  if (kind != emit::ProgramKind::kModel) return input;
  if (shared != nullptr && weights[0].bytes > 0) {
    input.shared_weights = {shared->path(), shared->bytes()};
    return input;
  }
  add_weights(weights[0], input);
  if (!info.packed.empty()) input.runtime_archives.emplace_back("lossless");
  return input;
}

Result<link::LinkInput> build_entries(const Module& module, const emit::EntryPlans& entries,
                                      const emit::ProgramInfo& info, const MachineCode& code,
                                      link::Toolchain& toolchain) {
  TESSERA_TRY(const plan::ConstantPlan constants, plan::plan_constants(module, {}));
  const emit::WeightsLayout weights = emit::layout_weights(module, constants);
  std::vector<CompileJob> jobs =
      function_jobs(module, code, units_of_entries(module, code, toolchain.compilers_at_once()));
  jobs.push_back({"entries", emit::emit_entries(module, entries, weights, info), "cc", kHostFlags});
  TESSERA_TRY(link::LinkInput input, build_jobs(module, jobs, toolchain));
  add_weights(weights, input);
  return input;
}

}  // namespace tessera::driver
