// SPDX-License-Identifier: Apache-2.0
// What a Pattern holds; for the matcher and the text of patterns only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "relay/patterns/pattern.h"

namespace tessera::relay {

enum class PatternKind : std::uint8_t {
  kWildcard,
  kVar,       // name: "" is any
  kConstant,  // any
  kScalar,    // scalar
  kOperator,  // name
  kGlobal,    // name
  kExpr,      // expr
  kCall,      // children: callee, arguments
  kFunction,  // children: parameters, body
  kIf,        // children: condition, then, else
  kLet,       // children: variable, value, body
  kTuple,     // children: fields
  kProject,   // index; children: tuple
  kEither,    // children: left, right
  kAttr,      // attrs; from here to kShape children: what must match besides
  kType,
  kDtype,
  kShape,
  kDominator  // children: parent, path, child
};

struct PatternNode {
  PatternKind kind = PatternKind::kWildcard;
  std::string name;
  std::string capture;
  std::vector<Pattern> children;
  bool any = false;  // arguments of a call, fields of a tuple or parameters of a function are open
  double scalar = 0;
  int index = -1;                        // of a projection; -1 is any
  std::shared_ptr<const Function> expr;  // without parameters; its result is what must be equal
  Attrs attrs;
  Type type;
  DType dtype;
  Shape shape;
  int depth = 1;  // 1 without children
};

}  // namespace tessera::relay
