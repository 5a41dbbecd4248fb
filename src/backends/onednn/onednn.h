// SPDX-License-Identifier: Apache-2.0
// oneDNN: products, convolutions and what goes with them, as a runtime module. A region is a JSON
// graph and named constants; weights are stored in the layouts that the library prefers.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& onednn_backend();

}  // namespace tessera::backends
