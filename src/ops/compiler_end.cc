// SPDX-License-Identifier: Apache-2.0
#include "ops/annotation.h"

namespace tessera::ops {

constexpr Operator kCompilerEnd{
    .name = "annotation.compiler_end",
    .doc =
        "The value leaves a region of a back end; a mark for partitioning   "
        "data: any -> the same",
    .operands = {"data"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<CompilerAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_mark,
    .eval = eval_mark,
    .compute = compute_mark,
    .has_effect = true,  // two marks of one value are two
    .samples = {"annotation.compiler_end(float32[3,4], compiler=\"c\")",
                "annotation.compiler_end(bool[2], compiler=\"c\")",
                "annotation.compiler_end(int8[0], compiler=\"c\")"},
};

}  // namespace tessera::ops
