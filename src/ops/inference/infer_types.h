// SPDX-License-Identifier: Apache-2.0
// Type inference (relay-spec 2.11): a type for every node, from parameters' annotations forward.
#pragma once

#include <map>
#include <string>

#include "constants/pool.h"
#include "module/module.h"
#include "relay/function.h"

namespace tessera::ops {

// What a function's body may refer to.
struct InferContext {
  const std::map<std::string, Type>* globals = nullptr;  // function types by name
  const ConstantPool* constants = nullptr;
};

// Gives every node its type and completes annotations; types that are there already are inferred
// anew, but those of references to globals that the context does not know stay. All findings are
// reported. A parameter of a literal without annotation takes the type of the argument that it is
// called with.
Result<relay::Function> infer_types(relay::Function function, const InferContext& context = {});

// As many types as follow without the functions that the context does not know: of an `if`, those
// of one branch are enough. For the signatures of recursive functions; nothing is reported.
relay::Function infer_known_types(relay::Function function, const InferContext& context);

// The same for all functions, callees first. What a recursive function lacks of its signature is
// taken from the branches in which it ends, and from a call of it. Compiler and Extern functions
// are inferred like others, but Extern ones keep the result that they declare.
Result<Module> infer_types(Module module);

// Can values of type `found` go where `wanted` is due? Unknown and symbolic sizes may turn out
// equal.
bool is_compatible(const Type& wanted, const Type& found);

}  // namespace tessera::ops
