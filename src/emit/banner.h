// SPDX-License-Identifier: Apache-2.0
// What stands above a kernel's text, in C++ and CUDA alike.
#pragma once

#include <string_view>

#include "emit/kernel_expr.h"
#include "tir/prim_func.h"

namespace tessera::emit {

// Comment lines: the name, parameters with their shapes, attributes, places in the model.
Source kernel_banner(const tir::PrimFunc& f, std::string_view symbol, KernelScope& scope);
// `(128, 768)`
Source shape_text(const tir::Buffer& b, KernelScope& scope);

}  // namespace tessera::emit
