// SPDX-License-Identifier: Apache-2.0
// TensorRT as a back end of whole graphs on a GPU: regions as large as they can be, built to
// engines when the model is compiled, on the machine with the device, and deserialised when it is
// created.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& tensorrt_backend();

}  // namespace tessera::backends
