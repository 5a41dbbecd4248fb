// SPDX-License-Identifier: Apache-2.0
// The template of a back end of the C-source flavour: a few element-wise operators of float32. Its
// hook writes one C++ source for all of its functions, has it compiled to a static library, and
// leaves externs behind. Copy this folder, and change the patterns and the text.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& ccompiler_backend();

}  // namespace tessera::backends
