// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "relay/function.h"
#include "tir/index_form.h"
#include "tir/prim_func.h"

namespace tessera::lower {

// The offset of an element in a dense row-major buffer.
tir::Expr flat_offset(const tir::Buffer& buffer, const std::vector<tir::Expr>& indices);

// Which input the only output of this kernel is, byte for byte, in another shape; -1: none. Of
// sizes that are known at run time see kept_input.
int viewed_input(const tir::PrimFunc& kernel);

// Which parameter the result of a region is, whose operators only give elements another shape; -1:
// none, or the region does more.
int kept_input(const relay::Function& f, relay::RegionId region);

}  // namespace tessera::lower
