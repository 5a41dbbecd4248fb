// SPDX-License-Identifier: Apache-2.0
// What a cpu target means for the compiler, and for the machine that the library may run on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "link/compiler.h"
#include "types/target.h"

namespace tessera::driver {

struct MachineCode {
  std::string processor;           // by its name for -mcpu
  std::vector<std::string> flags;  // of every emitted source
  // Kernels in one translation unit. Fixed, so that the bytes do not depend on the number of jobs;
  // small, so that two cores share the work.
  std::size_t kernels_per_unit = 4;
  std::vector<std::string> cpu_features;  // that the code may use, as -m<name> spells them; sorted
};

// Asks the compiler which instructions `-mcpu` of the target, one processor, switches on.
Result<MachineCode> machine_code(const Target& cpu, const link::Compiler& compiler);
// Of each processor that `-mcpu` names. The best one, which has most features, first: so a library
// prefers them, whatever machine compiles it.
Result<std::vector<MachineCode>> machine_codes(const Target& cpu, const link::Compiler& compiler);
// The first that this machine can run; the last, which asks for least, where it can run none.
std::size_t best_here(std::span<const MachineCode> codes);
// `machine` with the code's processor alone, where it is a CPU.
Target target_for(const Target& machine, const MachineCode& code);

// Are there instructions that convert float16? Where the features of the CPU are not known, too.
bool converts_halves(const MachineCode& code);

}  // namespace tessera::driver
