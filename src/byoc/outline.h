// SPDX-License-Identifier: Apache-2.0
// Compiler functions as literals, as globals, as externs, and dissolved: the ways between them
// (docs/passes.md).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "byoc/global_symbols.h"
#include "module/module.h"
#include "relay/attributes.h"

namespace tessera::byoc {

// Options of a pass over compiler functions.
struct FilterOptions {
  std::string filter;  // the back end; "": all
  static constexpr auto fields = std::tuple{relay::attr("filter", &FilterOptions::filter)};
};

// Is it a compiler function, of the back end `compiler` unless that is ""?
bool is_compiler_function(const relay::Attrs& attrs, std::string_view compiler);

// Each called literal with `Compiler` in an optimizable function, the inner ones first, becomes a
// global under the symbol that the cache answers; where there is a function of that name, calls go
// to it and the literal is dropped. A `let` of such a literal goes. Literals that are not called
// stay.
Result<Module> outline_functions(Module module, GlobalSymbolCache& symbols,
                                 std::string_view compiler);

// Global compiler functions keep their bodies, and of their attributes nothing but `Extern=1`.
Module mark_functions_as_extern(Module module, std::string_view compiler);

// Calls of these globals in optimizable functions become their bodies, with composites dissolved;
// the globals go. Fails if one is no compiler function, calls a literal that is no composite, calls
// itself, or is used by anything else.
Result<Module> inline_functions(Module module, const std::set<std::string>& symbols);

}  // namespace tessera::byoc
