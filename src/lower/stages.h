// SPDX-License-Identifier: Apache-2.0
// Which tensor definitions get memory of their own, and which are computed where they are read.
//
// An output, a reduction and a definition that is dear to compute and needed more than once an
// element become stages; all others are substituted into their readers. A definition that one stage
// reads more than once at the same place becomes a scalar (`Let`) there.
#pragma once

#include <string>
#include <vector>

#include "lower/definitions.h"

namespace tessera::lower {

struct StageLet {
  tir::Expr var, value;
};

// for axes: target[indices] = [reduction over `reduction` of] value, with the lets evaluated before
// it.
struct Stage {
  tir::TensorRef tensor;
  std::vector<tir::IterAxis> axes;  // without those of extent 1
  std::vector<tir::Expr> indices;   // of the element stored, one a dimension
  std::vector<tir::IterAxis> reduction;
  bool reduces = false;
  tir::ReduceOp op = tir::ReduceOp::kSum;
  std::vector<StageLet> lets;
  tir::Expr value;  // Reads of inputs, tables and other stages only
  int output = -1;  // which output this is
};

// In order of execution.
std::vector<Stage> choose_stages(const Definitions& definitions);

}  // namespace tessera::lower
