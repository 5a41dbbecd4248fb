// SPDX-License-Identifier: Apache-2.0
// Matrix products with whatever element-wise work follows them, as kernels made of CUTLASS's
// templates.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& cutlass_backend();

}  // namespace tessera::backends
