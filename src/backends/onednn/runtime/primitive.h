// SPDX-License-Identifier: Apache-2.0
// From a kernel to oneDNN's primitive descriptor.
#pragma once

#include <string_view>

#include "backends/onednn/runtime/layout.h"
#include "backends/onednn/runtime/spec.h"

namespace tessera::backends::onednn {

// What the plan has decided about layouts before the primitive is described.
struct LayoutChoice {
  // One an operand; null: the library may choose.
  const_dnnl_memory_desc_t operands[kMaxOperands] = {};
  // The operand of the first post-operation is the destination's old content instead.
  bool sum_in_place = false;
  // The result takes the place of the source, a view that dies here.
  bool in_place = false;
  // A weight is to be read as it is stored, where the library might choose otherwise.
  bool has_stored_weights = false;
};

// The descriptor, or null with *status. With user-managed scratchpad.
dnnl_primitive_desc_t describe(const Api& api, dnnl_engine_t engine, const KernelSpec& spec,
                               const LayoutChoice& choice, dnnl_status_t* status);

dnnl_primitive_desc_t describe_reorder(const Api& api, dnnl_engine_t engine,
                                       const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to,
                                       dnnl_status_t* status);

// The execution argument of operand `i`.
int argument(const KernelSpec& spec, std::int32_t i);

// Name of the implementation that the library chose: "brgconv:avx512_core".
std::string_view implementation(const Api& api, const_dnnl_primitive_desc_t desc);
// Whether that is the one for everything, a hundred times slower than the others.
bool is_reference(const Api& api, const_dnnl_primitive_desc_t desc);

}  // namespace tessera::backends::onednn
