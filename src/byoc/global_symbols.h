// SPDX-License-Identifier: Apache-2.0
// Under which global symbol a compiler function is outlined. Outlining asks; who searches, names or
// shares functions answers.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "module/module.h"
#include "module/name_supply.h"

namespace tessera::byoc {

class GlobalSymbolCache {
 public:
  virtual ~GlobalSymbolCache() = default;
  // The same function is always answered with the same symbol. Fails where the function cannot be
  // outlined; the place is the function's.
  virtual Result<std::string> symbol_of(const relay::Function& function) = 0;
};

// Each function brings its symbol in `global_symbol`; one without is an error that names it.
class ExistingGlobalSymbols : public GlobalSymbolCache {
 public:
  Result<std::string> symbol_of(const relay::Function& function) override;
};

// Structurally equal functions share one symbol, whatever their `global_symbol`; others get the
// name that `hint` gives, with `_1`, `_2`, ... after it where it is taken.
class SharedGlobalSymbols : public GlobalSymbolCache {
 public:
  using Hint = std::function<std::string(const relay::Function&)>;
  // The functions that will be asked for are the module's; its names are never given.
  SharedGlobalSymbols(Hint hint, const Module& module);
  Result<std::string> symbol_of(const relay::Function& function) override;

 private:
  struct Known {
    relay::Function function;
    std::string symbol;
  };
  Hint hint_;
  ConstantPool pool_;
  NameSupply names_;
  std::unordered_map<std::uint64_t, std::vector<Known>> by_hash_;  // never iterated
};

}  // namespace tessera::byoc
