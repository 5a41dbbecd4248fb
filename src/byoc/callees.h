// SPDX-License-Identifier: Apache-2.0
// Who calls the global functions of a module, for passes that change signatures.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "module/module.h"
#include "relay/attributes.h"
#include "relay/rewrite.h"

namespace tessera::byoc {

// Options of a pass that changes signatures.
struct CompilerOptions {
  std::string compiler;  // the back end whose functions change; "": all
  static constexpr auto fields = std::tuple{relay::attr("compiler", &CompilerOptions::compiler)};
};

// Is a literal or a reference to a global, under all names that it has, called and nothing else?
bool is_only_called(const relay::Function& f, const relay::Uses& uses, relay::NodeId callee);

// The global compiler functions (of one back end unless `compiler` is "") whose calls are all seen,
// so that signature and calls can change together. The others become warnings.
std::set<std::string> changeable_functions(const Module& module, std::string_view compiler,
                                           std::vector<Diagnostic>& warnings);

// The function of the set that a call goes to; else null.
const std::string* called_function(const relay::Function& f, relay::NodeId call,
                                   const std::set<std::string>& among);

}  // namespace tessera::byoc
