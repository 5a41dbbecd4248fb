// SPDX-License-Identifier: Apache-2.0
#include "driver/build.h"

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
#include "schedule/schedule.h"
#include "support/files.h"
#include "tir/print.h"
#include "tir/verify.h"
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

std::vector<CompileJob> kernel_jobs(const Module& module, const MachineCode& code) {
  const Target target = compute_target(module.targets);
  std::vector<CompileJob> jobs;
  using Unit = std::map<std::string, tir::PrimFunc>;
  Unit of_cpu, of_device;
  const auto flush = [&](Unit& unit) {
    if (unit.empty()) return;
    const std::string name = fmt::format("kernels_{}", jobs.size());
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
        target.device() == DeviceType::kCuda && !plan::computes_on_cpu(module, symbol);
    Unit& unit = on_device ? of_device : of_cpu;
    unit.emplace(symbol, f);
    if (unit.size() == (on_device ? kCudaKernelsPerUnit : code.kernels_per_unit)) flush(unit);
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

}  // namespace

std::vector<std::vector<std::int64_t>> likely_shapes(const Lowered& lowered) {
  return likely_input_shapes(lowered.module.prim_funcs.at("main"), lowered.module.symbols);
}

Result<Module> lower_functions(Module module, const Target& target, const std::string& dump_dir) {
  TESSERA_TRY(module, lower::lower(std::move(module)));
  module = schedule::schedule(std::move(module), target);
  TESSERA_TRY_VOID(check_and_dump(module, dump_dir));
  return module;
}

Result<Lowered> lower_module(Module module, const CompileOptions& options) {
  Lowered lowered;
  TESSERA_TRY(lowered.module, lower_functions(std::move(module), compute_target(options.targets),
                                              options.dump_dir));
  const auto main = lowered.module.prim_funcs.find("main");
  TESSERA_CHECK(main != lowered.module.prim_funcs.end(), "lowering left no host program");
  TESSERA_TRY(lowered.plan, plan::plan_memory(main->second, lowered.module));
  TESSERA_TRY_VOID(dump_text(options.dump_dir, "plan.txt", plan::print_plan(lowered.plan)));
  TESSERA_TRY_VOID(dump_graphs(lowered.module, options.dump_dir));
  return lowered;
}

std::vector<CompileJob> program_sources(const Lowered& lowered, const emit::ProgramInfo& info,
                                        emit::ProgramKind kind, const MachineCode& code) {
  const Module& module = lowered.module;
  std::vector<CompileJob> jobs = kernel_jobs(module, code);
  for (const Artifact& a : module.artifacts) {
    if (a.kind != ArtifactKind::kCSource) continue;
    jobs.push_back(
        {fmt::format("{}_{}", a.backend, jobs.size()), byoc::c_source(a), "cc", a.compile_flags});
  }
  jobs.push_back({kind == emit::ProgramKind::kModel ? "host" : "kernel_library",
                  emit::emit_host(module, lowered.plan, emit::layout_weights(module), info, kind),
                  "cc", kHostFlags});
  return jobs;
}

Result<link::LinkInput> build_objects(const Lowered& lowered, const emit::ProgramInfo& info,
                                      emit::ProgramKind kind, const MachineCode& code,
                                      link::Toolchain& toolchain) {
  const Module& module = lowered.module;
  TESSERA_TRY_VOID(check_artifacts(module));
  const emit::WeightsLayout weights = emit::layout_weights(module);
  link::LinkInput input;
  TESSERA_TRY(input.objects, toolchain.compile(program_sources(lowered, info, kind, code)));
  add_payloads(module, input.objects);
  for (const Artifact& a : module.artifacts) {
    if (a.kind == ArtifactKind::kStaticLibrary) input.archives.push_back(a.payload);
  }
  input.runtime_archives = names_in_all(module, &Artifact::runtime_archives);
  input.cuda_libraries = names_in_all(module, &Artifact::cuda_libraries);
  if (compute_target(module.targets).device() == DeviceType::kCuda) {
    input.runtime_archives.emplace_back("cuda_runtime");
    input.cuda_libraries.emplace_back("libcudart_static.a");
  }
  if (kind == emit::ProgramKind::kModel) {
    for (const auto& piece : weights.pieces) input.weights.push_back({piece.offset, piece.blob});
    input.weights_bytes = weights.bytes;
  }
  return input;
}

}  // namespace tessera::driver
