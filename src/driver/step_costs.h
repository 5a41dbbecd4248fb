// SPDX-License-Identifier: Apache-2.0
// What the steps of a lowered program compute and move, for whoever measures them.
#pragma once

#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::driver {

// Formulas of the program's symbols; `?` where nothing is known before the run.
struct StepCost {
  std::string kernel;
  Dim flops;
  Dim bytes;              // of the tensors and constants that it is given and gives, each once
  bool is_narrow;         // are its products as exact as those of 16 bits?
  std::vector<Dim> dims;  // the values of its formal dimensions
};

// The size as a formula.
Dim size_of(const tir::Expr& e);

// In order of the program's text, as profiles number them.
std::vector<StepCost> step_costs(const Module& lowered);

}  // namespace tessera::driver
