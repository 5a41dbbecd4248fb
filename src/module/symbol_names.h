// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "relay/function.h"

namespace tessera {

// What the model's file calls the symbols that could not keep their names: `seq.len` is no name in
// the IR. By symbol; an attribute of an entry function, `symbol_names`, which importers leave.
std::map<std::string, std::string> symbol_names(const relay::Function& entry);
relay::AttrValue symbol_names_attr(const std::map<std::string, std::string>& names);

}  // namespace tessera
