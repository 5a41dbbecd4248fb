// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "module/module.h"

namespace tessera::byoc {

struct Shared {
  Module module;
  std::map<std::string, std::string> replaced;  // functions that are gone: by what
};

// Among the compiler functions of one back end that are structurally equal, whatever their
// `global_symbol`, one remains, and all calls go to it: layers of one shape have one definition
// where constants are arguments.
Shared share_equal_functions(Module module, std::string_view compiler);

}  // namespace tessera::byoc
