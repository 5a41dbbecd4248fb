// SPDX-License-Identifier: Apache-2.0
// BLAS: matrix products of float32 and float64 as plain calls of a shim over CBLAS.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& blas_backend();

}  // namespace tessera::backends
