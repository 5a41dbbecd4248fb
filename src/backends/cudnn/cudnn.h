// SPDX-License-Identifier: Apache-2.0
// The back end for cuDNN's graph interface: convolutions with what follows them,
// attention, and norms.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& cudnn_backend();

}  // namespace tessera::backends
