// SPDX-License-Identifier: Apache-2.0
// Functions that call themselves at their end, which are loops.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "relay/function.h"

namespace tessera::lower {

struct TailRecursion {
  // Calls of the function itself, whose result is the function's own.
  std::set<relay::NodeId> calls;
  // `if`s that the function's result comes from, with such a call in a branch.
  std::set<relay::NodeId> branches;
  // By parameter: is it another value in some call?
  std::vector<bool> changes;
  // Calls of `update_row` whose data, the parameter, nothing else of that iteration reads.
  std::map<relay::NodeId, std::size_t> in_place;
};

// Without calls where the function `name` does not call itself. Fails on any other recursion.
Result<TailRecursion> find_tail_recursion(const relay::Function& f, const std::string& name);

// `update_row`, alone or in a primitive function of its own: the values that it is called with.
struct RowUpdate {
  const relay::Operator* op;
  relay::NodeId data, row, index;
};
std::optional<RowUpdate> row_update(const relay::Function& f, relay::NodeId id);

}  // namespace tessera::lower
