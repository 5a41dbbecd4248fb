// SPDX-License-Identifier: Apache-2.0
#include "ops/records/init.h"

namespace tessera::ops {

constexpr Operator kOnes =
    init_operator<1>("ones", "y[i...] = 1   -> dtype[shape]",
                     {"ones(shape=[2,3])", "ones(shape=[], dtype=\"int64\")",
                      "ones(shape=[0,2], dtype=\"float16\")", "ones(shape=[3], dtype=\"bool\")"});

}  // namespace tessera::ops
