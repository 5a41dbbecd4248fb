// SPDX-License-Identifier: Apache-2.0
#include "ops/annotation.h"

namespace tessera::ops {

constexpr Operator kCompilerBegin{
    .name = "annotation.compiler_begin",
    .doc =
        "The value enters a region of a back end; a mark for partitioning, gone before lowering   "
        "data: any -> the same",
    .operands = {"data"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<CompilerAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_mark,
    .has_effect = true,  // two marks of one value are two
};

}  // namespace tessera::ops
