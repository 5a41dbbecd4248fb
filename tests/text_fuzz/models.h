// SPDX-License-Identifier: Apache-2.0
// Models whose every text is one of the names that they are made with.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/text_fuzz/names.h"

namespace tessera::text_fuzz {

struct FuzzModel {
  std::string file;  // its name says what it is
  std::string bytes;
  std::set<std::string> kept;  // weights, as --keep-weights has them
};

struct ModelKind {
  const char* name;
  FuzzModel (*make)(const Names& names);
};
// Products with constants, a function of the model's own, doc strings and metadata; sizes with
// names; branches and loops; Relay text.
const std::vector<ModelKind>& model_kinds();

}  // namespace tessera::text_fuzz
