// SPDX-License-Identifier: Apache-2.0
#include "ops/annotation.h"

namespace tessera::ops {

constexpr Operator kCompilerBegin{
    .name = "annotation.compiler_begin",
    .doc =
        "The value enters a region of a back end; a mark for partitioning   "
        "data: any -> the same",
    .operands = {"data"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<CompilerAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_mark,
    .eval = eval_mark,
    .compute = compute_mark,
    .has_effect = true,  // two marks of one value are two
    .samples = {"annotation.compiler_begin(float32[3,4], compiler=\"c\")",
                "annotation.compiler_begin(bool[2], compiler=\"c\")",
                "annotation.compiler_begin(int8[0], compiler=\"c\")"},
};

}  // namespace tessera::ops
