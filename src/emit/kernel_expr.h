// SPDX-License-Identifier: Apache-2.0
// Expressions of a kernel as C++ text.
#pragma once

#include <set>
#include <string>

#include "tir/index_form.h"
#include "tir/names.h"

namespace tessera::emit {

// `float` for float32, float16 and bfloat16; what values of the type are computed in.
std::string_view value_type(DType dtype);
// What an array of the type holds: `tk::float16`.
std::string_view storage_type(DType dtype);
// The element type of a buffer: those on the stack or shared by a block hold values as they are
// computed.
std::string_view element_type(const tir::Buffer& buffer);

// What the text of an expression depends on.
struct KernelScope {
  tir::Names names;
  tir::Bounds bounds;  // of loop variables and dimensions
  std::set<const tir::BufferNode*>
      scalars;  // stack buffers of one element that are plain variables
  // Are functions of floats to be computed for results that memory holds in 16 bits?
  bool has_half_functions = false;

  KernelScope();
  const std::string& name(const tir::Expr& var) {
    return names.of(var.get(), var.as<tir::Var>()->name);
  }
  const std::string& name(const tir::Buffer& b) { return names.of(b.get(), b->name); }
};

std::string expr_text(const tir::Expr& e, KernelScope& scope);
// `x[i * 768 + j]`, or `total` for a scalar: to be stored to.
std::string element_text(const tir::Buffer& b, const std::vector<tir::Expr>& indices,
                         KernelScope& scope);
// A value converted to what the buffer holds.
std::string stored_text(const tir::Buffer& b, const tir::Expr& value, KernelScope& scope);

}  // namespace tessera::emit
