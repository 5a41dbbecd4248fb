// SPDX-License-Identifier: Apache-2.0
// Functions of a module that belong to a back end: found, and turned into externs once compiled.
// byoc/outline.h puts them back into their callers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "module/module.h"

namespace tessera::byoc {

// Symbols of the global functions whose `Compiler` is `backend`, sorted; all of them for "".
std::vector<std::string> compiler_functions(const Module& module, std::string_view backend);

struct ExternInfo {
  std::int64_t workspace_bytes = 0;
  std::vector<std::string> operators;  // for reports; empty: the operators of the body
  CallingConvention convention = CallingConvention::kBackend;
  DType float32_precision = kFloat32;  // as in Extern
  std::string workspace_query = {};    // in place of the bytes: as in Workspace
  Capture capture = {};
};
// In place of an artifact's number: a prim_func of the module defines the function, under its own
// symbol and in the generated calling convention; schedule/ and emit/ do the rest.
inline constexpr std::int32_t kLoopIr = -1;
// The function becomes a stub with `Extern=1` alone, defined by the artifact of this number.
void make_extern(Module& module, const std::string& symbol, std::int32_t artifact, ExternInfo info);
// The same, with an artifact of its own.
void make_extern(Module& module, const std::string& symbol, Artifact artifact, ExternInfo info);

// Operators of a function, those inside of composites included, in order and with repetitions; and
// the places in the model that they come from, once each.
std::vector<std::string> operators_of(const relay::Function& f);
std::vector<Location> sources_of(const relay::Function& f);

}  // namespace tessera::byoc
