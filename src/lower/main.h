// SPDX-License-Identifier: Apache-2.0
// From the graph to the loop IR, a module at a time.
#pragma once

#include "module/module.h"

namespace tessera::lower {

// Lowers every optimizable function of the module that is not primitive itself (`main`; the entries
// of a search) to a host program of the same name, and what it calls to kernels:
//
//   * a call of a Primitive literal, of a Primitive global, or of an operator on its own makes a
//   kernel; equal
//     kernels share one symbol; `externs` gets an entry for each;
//   * a call of a global with `Compiler` or `Extern` calls the symbol that its back end has put
//   into `externs`;
//   * what only gives the bytes another shape makes a View.
//
// Results are written where the caller wants them; a copy remains only where a parameter, a
// constant or one value twice is returned. Lowered functions leave `functions`; stubs stay. In a
// program for a device the host computes what sizes are made of (lower/host_values.h). Types must
// be known; run fuse-ops before.
Result<Module> lower(Module module);

// Kernels get their tables and their scratch memory from the host program, as inputs and outputs
// after the others: from then on no kernel allocates anything but stack. Run it last, after
// schedule/.
Module hoist_allocations(Module module);

}  // namespace tessera::lower
