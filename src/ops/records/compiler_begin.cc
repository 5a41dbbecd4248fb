// SPDX-License-Identifier: Apache-2.0
#include "ops/records/annotation.h"

namespace tessera::ops {

constexpr Operator kCompilerBegin = compiler_mark(
    "annotation.compiler_begin",
    "The value enters a region of a back end; a mark for partitioning   data: any -> the same",
    {"annotation.compiler_begin(float32[3,4], compiler=\"c\")",
     "annotation.compiler_begin(bool[2], compiler=\"c\")",
     "annotation.compiler_begin(int8[0], compiler=\"c\")"});

}  // namespace tessera::ops
