// SPDX-License-Identifier: Apache-2.0
// Computes parts of a function in another float type. A plan says which calls; casts stand where
// the two meet, one for a value and direction, and constants are converted here. Parameters and
// results of functions, branches and literals keep their types.
#pragma once

#include <functional>
#include <vector>

#include "constants/pool.h"
#include "relay/function.h"

namespace tessera::passes {

enum class Conversion : std::uint8_t {
  kNone,     // of a call: it computes in what it did
  kFollows,  // it takes its operands as they come
  kWhole,    // it reads and makes the other type
  kResult,   // it computes in what it did, and its result goes on in the other type
  kFirst,    // as kWhole, but its operands after the first stay as they are
};

struct ConversionPlan {
  std::vector<DType> from;                         // these types become
  DType to;                                        // this one
  std::vector<Conversion> calls;                   // by node
  std::function<Tensor(const Tensor&)> converted;  // of a constant
  bool convert_io = false;                         // the parameters and the result, too
};

// Needs types.
relay::Function convert_precision(const relay::Function& f, const ConstantPool& pool,
                                  const ConversionPlan& plan);

}  // namespace tessera::passes
