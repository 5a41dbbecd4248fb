// SPDX-License-Identifier: Apache-2.0
// The kernels of a module while its functions are lowered, and those that no operator asks for.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lower/definitions.h"
#include "module/module.h"

namespace tessera::lower {

// Each kernel is in the module once, however often it is called.
class Kernels {
 public:
  explicit Kernels(Module& module) : module_(module) {}

  // The symbol of an equal kernel, or a new one.
  std::string symbol_of(tir::PrimFunc kernel);

 private:
  std::string fresh_symbol(const tir::PrimFunc& kernel);

  Module& module_;
  int number_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::string>> by_hash_;
};

// A kernel that the CPU computes, whatever the program is for: a few numbers, which need no
// schedule and have their temporaries in its frame.
tir::PrimFunc for_cpu(tir::PrimFunc kernel);
bool is_for_cpu(const tir::PrimFunc& kernel);
// The memory that a kernel allocates for what lies between its nests.
std::vector<tir::Buffer> temporaries_of(const tir::PrimFunc& kernel);

// y[i] = x[i]
Definitions copy_definition(const Type& type);

// y[index, ...] = row[...], where there is such a row; all else of y stays as it is.
tir::PrimFunc row_kernel(const Type& data, const Type& index, tir::DimVars& dims);

// What the formal dimensions of a kernel stand for, in order.
std::vector<Dim> values_of_formals(const tir::DimVars& formals);
inline std::vector<Dim> dims_of(const Definitions& d) { return values_of_formals(d.dims); }

}  // namespace tessera::lower
