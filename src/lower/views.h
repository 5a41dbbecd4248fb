// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tir/index_form.h"
#include "tir/prim_func.h"

namespace tessera::lower {

// The offset of an element in a dense row-major buffer.
tir::Expr flat_offset(const tir::Buffer& buffer, const std::vector<tir::Expr>& indices);

// Which input the only output of this kernel is, byte for byte, in another shape; -1: none.
int viewed_input(const tir::PrimFunc& kernel);

}  // namespace tessera::lower
