// SPDX-License-Identifier: Apache-2.0
// What the user says about the model's symbolic dimensions, and names for those that have none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "module/module.h"

namespace tessera::driver {

// --dim NAME=SIZE makes a number of a symbol, --dim NAME=MIN..MAX[:LIKELY] bounds it.
struct DimBinding {
  std::string name;
  std::optional<std::int64_t> size;
  Symbol range;  // where `size` is not given
};
Result<DimBinding> parse_dim_binding(const std::string& text);
// All of a command line; none twice.
Result<std::vector<DimBinding>> parse_dim_bindings(std::span<const std::string> texts);

// Puts sizes in the place of symbols in the types of main's parameters, and ranges into the
// module's table of symbols. Then every dimension of a parameter is a number or made of symbols:
// a `?` becomes a symbol of its own. Types are inferred anew. Refuses a binding for a symbol that
// the model does not have, and sizes that no input states by themselves.
Result<Module> bind_dimensions(Module module, const std::vector<DimBinding>& dims);

// Shapes of the inputs of a lowered `main`, of likely sizes.
std::vector<std::vector<std::int64_t>> likely_input_shapes(const tir::PrimFunc& main,
                                                           const SymbolTable& symbols);
// The same of the largest sizes: the likely one where a symbol has no bound.
std::vector<std::vector<std::int64_t>> largest_input_shapes(const tir::PrimFunc& main,
                                                            SymbolTable symbols);

}  // namespace tessera::driver
