// SPDX-License-Identifier: Apache-2.0
// What a host program's tables and entry refer to and others define.
#pragma once

#include "module/module.h"
#include "support/source.h"

namespace tessera::emit {

// Kernels, functions of back ends and payloads, each once and in order of their kinds.
Source emit_declarations(const Module& module);
// Kernels of the module alone.
Source emit_kernel_declarations(const Module& module);

}  // namespace tessera::emit
