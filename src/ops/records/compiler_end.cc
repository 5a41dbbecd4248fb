// SPDX-License-Identifier: Apache-2.0
#include "ops/records/annotation.h"

namespace tessera::ops {

constexpr Operator kCompilerEnd = compiler_mark(
    "annotation.compiler_end",
    "The value leaves a region of a back end; a mark for partitioning   data: any -> the same",
    {"annotation.compiler_end(float32[3,4], compiler=\"c\")",
     "annotation.compiler_end(bool[2], compiler=\"c\")",
     "annotation.compiler_end(int8[0], compiler=\"c\")"});

}  // namespace tessera::ops
