// SPDX-License-Identifier: Apache-2.0
// The tables of runtime/program.h for one program, its entry, and the program that points at them.
#pragma once

#include <string>

#include "emit/host.h"

namespace tessera::emit {

// The one that a library exports with what it says of itself, or one of several in it: that has
// states of the back ends' functions which it calls, and no others.
enum class Program { kOfLibrary, kEntry };

// `entry`: a host function of the module, whose plan is `plan`; "": a kernel library's. What the
// tables name is declared before them (emit/host_declarations.h), and so are `num_others` programs
// for other machines, a list named `others`.
Source emit_tables(const Module& module, const plan::MemoryPlan& plan, const WeightsLayout& weights,
                   const ProgramInfo& info, const std::string& entry, Program program,
                   std::size_t num_others = 0);

}  // namespace tessera::emit
