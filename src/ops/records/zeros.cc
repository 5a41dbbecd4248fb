// SPDX-License-Identifier: Apache-2.0
#include "ops/records/init.h"

namespace tessera::ops {

constexpr Operator kZeros =
    init_operator<0>("zeros", "y[i...] = 0   -> dtype[shape]",
                     {"zeros(shape=[2,3])", "zeros(shape=[], dtype=\"int64\")",
                      "zeros(shape=[0,2], dtype=\"float16\")", "zeros(shape=[3], dtype=\"bool\")"});

}  // namespace tessera::ops
