// SPDX-License-Identifier: Apache-2.0
// From a placed module to what the linker and the interpreter need: lowering, scheduling, memory
// plan, objects.
#pragma once

#include <span>
#include <vector>

#include "driver/machine_code.h"
#include "driver/options.h"
#include "driver/shared_weights_file.h"
#include "emit/host.h"
#include "link/link_library.h"
#include "link/toolchain.h"
#include "schedule/algorithms.h"

namespace tessera::driver {

// The model for another processor of -mcpu: its kernels have symbols that end with the name.
struct OtherMachine {
  MachineCode code;
  Module module;
  plan::MemoryPlan plan;
};

// The module with all code in the loop IR or in artifacts, and where its memory lies.
struct Lowered {
  Module module;
  plan::MemoryPlan plan;
  std::vector<OtherMachine> others = {};  // in order of preference
};
// Of the inputs of `main`, at the likely sizes.
std::vector<std::vector<std::int64_t>> likely_shapes(const Lowered& lowered);
// Functions to host programs and kernels, scheduled and verified; dumped if `dump_dir` is not "".
// `measured`: of generated code; null: rules choose its algorithms.
Result<Module> lower_functions(Module module, const Target& target, const std::string& dump_dir,
                               schedule::MeasuredAlgorithms* measured = nullptr);
Result<Lowered> lower_module(Module module, const CompileOptions& options);
// For each of the processors; the first is that of `module` and `plan`. What was measured counts
// for all of them.
Result<Lowered> lower_module(Module module, const CompileOptions& options,
                             std::span<const MachineCode> machines,
                             schedule::MeasuredAlgorithms* measured = nullptr);
// What there is for `machines[chosen]`, alone.
Lowered lowered_for(Lowered lowered, std::size_t chosen);
// Of all machines, that of `lowered.module` first; they share their pieces.
std::vector<emit::WeightsLayout> layout_weights(const Lowered& lowered,
                                                const emit::PackedBlobs& packed = {});

// Kernels, and what back ends left as C++: all that is compiled but the program that calls them.
std::vector<CompileJob> function_sources(const Module& module, const MachineCode& code);
// What is compiled for a program of either kind: those, and the host program.
std::vector<CompileJob> program_sources(const Lowered& lowered, const emit::ProgramInfo& info,
                                        emit::ProgramKind kind, const MachineCode& code);
std::vector<CompileJob> program_sources(const Lowered& lowered, const emit::ProgramInfo& info,
                                        emit::ProgramKind kind, const MachineCode& code,
                                        const std::vector<emit::WeightsLayout>& weights);
// Compiled sources, archives and weights of a program of either kind; where some are shared,
// those that are in `shared` in place of weights of its own.
Result<link::LinkInput> build_objects(const Lowered& lowered, const emit::ProgramInfo& info,
                                      emit::ProgramKind kind, const MachineCode& code,
                                      link::Toolchain& toolchain,
                                      SharedWeightsFile* shared = nullptr);
// The same of a library of entries: `module` as lower_functions gives it.
Result<link::LinkInput> build_entries(const Module& module, const emit::EntryPlans& entries,
                                      const emit::ProgramInfo& info, const MachineCode& code,
                                      link::Toolchain& toolchain);

}  // namespace tessera::driver
