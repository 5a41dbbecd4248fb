// SPDX-License-Identifier: Apache-2.0
#include "plan/symbol_text.h"

namespace tessera::plan {

std::string name_in_model(const tir::PrimFunc& main, const std::string& symbol) {
  const auto it = main.attrs.find("symbol " + symbol);
  return it == main.attrs.end() ? symbol : it->second;
}

}  // namespace tessera::plan
