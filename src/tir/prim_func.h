// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnostics/location.h"
#include "tir/stmt.h"

namespace tessera::tir {

// A loop function. Inputs come before outputs; a kernel has the generated calling convention of
// architecture section 10 (`buffers`, `dims`, `call`). A host program is one with `is_host` set:
// only it may hold CallKernel, and its buffers are the model's inputs and outputs.
struct PrimFunc {
  std::vector<Buffer> inputs, outputs;
  std::vector<Expr> dims;  // formal dimensions: int64 Vars, in order of first appearance
  Stmt body;
  bool is_host = false;
  std::map<std::string, std::string>
      attrs;  // "target", "schedule", "ops", ...: for banners and reports
  std::vector<Location> sources;
};

}  // namespace tessera::tir
