// SPDX-License-Identifier: Apache-2.0
// Native kernels for CUDA, as far as that needs neither a GPU nor nvcc.
#pragma once

#include "module/module.h"
#include "relay/function.h"

namespace tessera::fuzz {

// Does it call an operator that no loops express?
bool calls_runtime(const relay::Function& f);
// The graph as native code gets it: fused, not lowered.
Result<Module> prepared(const relay::Function& f, const Target& target);

// The graph lowered, scheduled, verified and written as text: the module with its loop IR; an empty
// one for graphs that call the runtime. A race between threads is an exception.
Result<Module> device_kernels(const relay::Function& f);

// A call with tensors as large as schedules for a device want them, and element-wise ones after
// it. It is not run.
relay::Function large_graph(std::uint64_t seed);

}  // namespace tessera::fuzz
