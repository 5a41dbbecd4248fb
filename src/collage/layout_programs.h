// SPDX-License-Identifier: Apache-2.0
// Programs of candidates in other layouts, and of what lies between candidates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collage/program.h"
#include "module/module.h"
#include "passes/layout_forms.h"

namespace tessera::collage {

// What is done to a whole model once its layouts are converted, done to a module of programs.
using FinishLayouts = std::function<Result<Module>(Module)>;

// The programs, each finished as a part of a model would be: what puts zeros into an operand is
// left to who makes it, as what changes its order writes them, too. In their order; equal ones are
// finished once.
Result<std::vector<relay::Function>> finished_programs(const Module& module,
                                                       const std::vector<relay::Function>& programs,
                                                       const FinishLayouts& finish);

// A value's dimensions in another order, with types.
Result<relay::Function> conversion_program(const Type& type, const passes::Permutation& axes);

// Does that change only where dimensions of size 1 stand? It takes no time then.
bool is_view(const Type& type, const passes::Permutation& axes);

}  // namespace tessera::collage
