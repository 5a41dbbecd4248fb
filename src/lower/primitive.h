// SPDX-License-Identifier: Apache-2.0
// A primitive function of the graph as a kernel of the loop IR: plain loop nests, one a stage, in
// canonical form
//
//   t = allocate_const(...); u = allocate(...); { nest; nest; ... }
//
// where a nest is a perfect nest of serial loops over the stage's axes around `[lets;] u[i, ...] =
// value`, or, for a reduction, around `u[i, ...] = identity; <loops of the reduction> u[i, ...] =
// step(u[i, ...], value)`. Making it fast is the business of schedule/.
#pragma once

#include "constants/pool.h"
#include "lower/definitions.h"
#include "tir/prim_func.h"

namespace tessera::lower {

// Inputs are the parameters' tensors, outputs the result's. Tables that definitions bring along,
// and constants that are not scalars, are allocated as constants inside.
Result<tir::PrimFunc> lower_primitive(const relay::Function& f, relay::RegionId region,
                                      const ConstantPool& pool);
// The same for definitions that exist already.
tir::PrimFunc lower_definitions(const Definitions& definitions);

}  // namespace tessera::lower
