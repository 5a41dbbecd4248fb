// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tir/stmt.h"

namespace tessera::tir {

// The first line of a statement or expression, for messages; of a statement without what is inside
// of it or in its scope, which is not read.
std::string excerpt(const Stmt& s);
std::string excerpt(const Expr& e);

}  // namespace tessera::tir
