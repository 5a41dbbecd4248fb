// SPDX-License-Identifier: Apache-2.0
#include "byoc/global_symbols.h"

#include "relay/structural_equal.h"

namespace tessera::byoc {

using relay::Function;

Result<std::string> ExistingGlobalSymbols::symbol_of(const Function& function) {
  std::string symbol = function.attrs.string_or_empty("global_symbol");
  if (!symbol.empty()) return symbol;
  return fail(error(Code::kWrongAttribute, function.location,
                    "a function with `Compiler=\"{}\"` has no attribute `global_symbol`, which "
                    "names it once it is outlined",
                    function.attrs.string_or_empty("Compiler"))
                  .with_remedy("add `global_symbol=\"NAME\"` to the function"));
}

SharedGlobalSymbols::SharedGlobalSymbols(Hint hint, const Module& module)
    : hint_(std::move(hint)), pool_(module.constants), names_(module) {}

Result<std::string> SharedGlobalSymbols::symbol_of(const Function& function) {
  Function nameless = function;
  nameless.attrs.erase("global_symbol");
  auto& same_hash = by_hash_[relay::structural_hash(nameless, &pool_)];
  for (const Known& known : same_hash) {
    if (relay::structural_equal(known.function, nameless, {&pool_, &pool_})) return known.symbol;
  }
  std::string symbol = names_.fresh(hint_(function));
  same_hash.push_back({std::move(nameless), symbol});
  return symbol;
}

}  // namespace tessera::byoc
