// SPDX-License-Identifier: Apache-2.0
// Matrix products by cublasLt, with what its epilogues can do after them.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& cublas_backend();

}  // namespace tessera::backends
