// SPDX-License-Identifier: Apache-2.0
// Expressions of a kernel as C++ text.
#pragma once

#include <set>
#include <string_view>

#include "emit/guards.h"
#include "support/source.h"
#include "tir/index_form.h"
#include "tir/names.h"

namespace tessera::emit {

// `float` for float32, float16 and bfloat16; what values of the type are computed in.
Literal value_type(DType dtype);
// What an array of the type holds: `tk::float16`.
Literal storage_type(DType dtype);
// The element type of a buffer: those on the stack or shared by a block hold values as they are
// computed.
Literal element_type(const tir::Buffer& buffer);

// What the text of an expression depends on.
struct KernelScope {
  tir::Names names;
  tir::Bounds bounds;  // of loop variables and dimensions
  std::set<const tir::BufferNode*>
      scalars;  // stack buffers of one element that are plain variables
  // Are functions of floats to be computed for results that memory holds in 16 bits?
  bool has_half_functions = false;
  // Where compilers make masked reads of guarded ones, they must not know the mask (tk::hidden_zero
  // says why): index comparisons of guards then add this variable, which is 0.
  bool hides_guards = false;
  Source guard_zero;  // its name, from its first use on
  bool needs_guard_zero = false;
  Lanes lanes;  // of the vectorised loop around

  KernelScope();
  Source name(const tir::Expr& var) { return name_of(var.get(), var.as<tir::Var>()->name); }
  Source name(const tir::Buffer& b) { return name_of(b.get(), b->name); }
  // A name that nothing else has.
  Source fresh(std::string_view hint) { return c_name(names.fresh(c_identifier(hint))); }

 private:
  Source name_of(const void* thing, std::string_view hint) {
    return c_name(names.of(thing, c_identifier(hint)));
  }
};

Source expr_text(const tir::Expr& e, KernelScope& scope);
// A condition under which memory is read or written.
Source guard_text(const tir::Expr& condition, KernelScope& scope);
// `x[i * 768 + j]`, or `total` for a scalar: to be stored to.
Source element_text(const tir::Buffer& b, const std::vector<tir::Expr>& indices,
                    KernelScope& scope);
// A value converted to what the buffer holds.
Source stored_text(const tir::Buffer& b, const tir::Expr& value, KernelScope& scope);

}  // namespace tessera::emit
