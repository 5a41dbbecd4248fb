// SPDX-License-Identifier: Apache-2.0
// Outputs of a run that are the caller's tensors: what they must be, and what is told of them.
#pragma once

#include "runtime/instance.h"

namespace tessera::runtime {

// Is the tensor one that an earlier run handed out? It is the instance's own again then, and its
// shape is not the caller's word.
bool is_own_output(const tessera_instance& instance, std::int32_t i, const tessera_tensor& output);

// That a tensor of the caller's is compact and its data aligned to `align_bytes`. A status.
std::int32_t check_layout(const tessera_program_io& io, const tessera_tensor& output,
                          std::uint64_t align_bytes);

// That it has room for a result of this shape. A status.
std::int32_t check_room(const tessera_program_io& io, const tessera_tensor& output,
                        const std::int64_t* shape);

// Bytes of a tensor of this shape, which can be counted; where it has a bound those of the bound,
// so that later runs find memory large enough.
std::uint64_t bound_bytes(const tessera_program_io& io, const std::int64_t* shape);
// The same of an output of the instance's own, whose memory is never empty. A status.
std::int32_t own_output_bytes(const tessera_program_io& io, const std::int64_t* shape,
                              std::uint64_t* bytes);

// Writes the result's sizes to the caller's tensor, and the strides where it has them.
void tell_shape(const tessera_tensor& result, tessera_tensor* output);

}  // namespace tessera::runtime
