// SPDX-License-Identifier: Apache-2.0
// What a Pattern holds; for pattern.cc and match.cc only.
#pragma once

#include <string>
#include <vector>

#include "relay/pattern.h"

namespace tessera::relay {

enum class PatternKind : std::uint8_t {
  kWildcard,
  kConstant,
  kScalar,
  kVar,
  kOp,
  kOpAnyArgs,
  kTuple,
  kProject,
  kEither,  // children: left, right
  kAttr,
  kDtype,
  kShape  // children: what must match besides
};

struct PatternNode {
  PatternKind kind = PatternKind::kWildcard;
  std::string name;  // of the operator, variable or attribute
  std::string capture;
  std::vector<Pattern> children;
  double scalar = 0;
  int index = -1;  // of a projection; -1 is any
  AttrValue value;
  DType dtype;
  Shape shape;
};

}  // namespace tessera::relay
