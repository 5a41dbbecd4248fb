// SPDX-License-Identifier: Apache-2.0
// Lists of named patterns with conditions: what a back end can run, or what a user brings as a
// file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/patterns/pattern.h"
#include "types/target.h"

namespace tessera::relay {

// A sentence that says why not: "K = 13 is no multiple of 8".
struct Refusal {
  std::string reason;
};

// A composite that a back end can run: `pattern`, named "onednn.conv2d_bias_relu". `check` sees
// operands, attributes, dtypes and the result type; no refusal means yes. Without a check it is
// always yes.
struct CompositePattern {
  std::string name;
  Pattern pattern;
  std::function<std::optional<Refusal>(const Match&, const Target&)> check;
  // Where it is not empty, what `compile` claims grows over the operators after it as far as
  // `check` agrees (relay/pattern_groups.h), and has this name if it did.
  std::string grown_name = {};
};

// Which neighbouring composites one function of the back end may hold, where a search puts
// functions together (relay-spec 9.6).
enum class Combining : std::uint8_t {
  kNone,    // each composite stands alone
  kByKind,  // those that one loop nest could hold, by how their operators fuse
  kAny,     // whatever is not opaque
};

// In order of priority: an earlier pattern claims its nodes first.
struct PatternTable {
  std::string name;
  std::vector<CompositePattern> composites;
  Combining combining = Combining::kAny;
};

}  // namespace tessera::relay
