// SPDX-License-Identifier: Apache-2.0
// What to-mixed-precision left in float32, and why, for people.
#pragma once

#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::passes {

struct PrecisionReport {
  struct Kept {
    std::string op, reason;
    int count = 0;
  };
  DType dtype;             // the 16-bit type
  int low = 0;             // calls of operators on values of it
  std::vector<Kept> kept;  // the most frequent first
};

// Needs types. Casts and what moves data without computing are not counted.
PrecisionReport precision_report(const Module& module, DType low);
// "40 operators in float16; float32 in 2 mean, 9 nn.softmax"
std::string to_string(const PrecisionReport& report);

}  // namespace tessera::passes
