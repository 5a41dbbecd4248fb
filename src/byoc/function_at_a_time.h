// SPDX-License-Identifier: Apache-2.0
// The hook of a back end that makes C++ function by function and knows nothing of their whole.
#pragma once

#include <functional>
#include <string>

#include "byoc/backend.h"

namespace tessera::byoc {

// The definition of `symbol` as C++ text, or why there is none; that function is declined.
using EmitFunction = std::function<Expected<Source, Refusal>(
    const std::string& symbol, const relay::Function& region, const ConstantPool& constants)>;

// Gives all functions of `artifact.backend` to `emit`, in order of their symbols, and adds one
// artifact for those that have text: `prologue`, then the definitions as C functions. Of kind
// kCSource the text is left to the linker; of kStaticLibrary it is compiled here. `artifact` holds
// the rest, its compile flags as well; its symbols and payload are filled in.
Result<CompileOutcome> compile_function_at_a_time(Module module, Artifact artifact,
                                                  const Source& prologue, const EmitFunction& emit,
                                                  CompileContext& context);

// The text of an artifact of kind kCSource, which was made here.
Source c_source(const Artifact& artifact);

// In a region that is one call of one composite: where among the region's parameters the argument
// for the composite's parameter `param` stands.
std::size_t argument_position(const relay::Function& region, relay::NodeId param);

}  // namespace tessera::byoc
