// SPDX-License-Identifier: Apache-2.0
// Constants that loop functions define, and those that host programs define for them.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "constants/pool.h"
#include "tir/prim_func.h"

namespace tessera::lower {

struct LoopConstant {
  tir::Buffer buffer;
  ConstantValue data;
};
// The definitions of constants in the order of the text, wherever they stand: in the scopes of
// others, in loops and in branches.
std::vector<LoopConstant> constant_definitions(const tir::Stmt& body);

// The statement with define(definition, scope) in the place of each of them; its scope is mapped
// already.
using DefineConstant = std::function<tir::Stmt(const tir::AllocateConst&, const tir::Stmt& scope)>;
tir::Stmt map_constants(const tir::Stmt& body, const DefineConstant& define);

// Constants that a host program defines before all else, each once.
class HostConstants {
 public:
  explicit HostConstants(const ConstantPool& pool) : pool_(pool) {}
  // For a kernel that the CPU computes (`on_host`) in the host's memory.
  tir::Buffer buffer(ConstantIndex index, bool on_host);
  // The program with their definitions.
  tir::Stmt define(tir::Stmt program) const;

 private:
  const ConstantPool& pool_;
  std::map<std::pair<ConstantIndex, bool>, tir::Buffer> buffers_;
};

}  // namespace tessera::lower
