// SPDX-License-Identifier: Apache-2.0
// Names for new functions of a module: none is given twice.
#pragma once

#include <map>
#include <set>
#include <string>

#include "module/module.h"

namespace tessera {

class NameSupply {
 public:
  // The names of the module's functions, loop functions and externs are taken.
  explicit NameSupply(const Module& module);
  bool is_taken(const std::string& name) const { return taken_.contains(name); }
  void take(const std::string& name) { taken_.insert(name); }
  // `hint`, or the first of `hint_1`, `hint_2`, ... that is free; it is taken from now on.
  std::string fresh(const std::string& hint);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> last_;  // the number given last, by hint
};

}  // namespace tessera
