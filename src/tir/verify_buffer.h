// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "constants/tensor.h"
#include "tir/buffer.h"

namespace tessera::tir {

// The most bytes of one array in the frame of a kernel.
inline constexpr std::int64_t kMaxStackBytes = 1 << 20;

// The bytes of the buffer's elements; -1 where an extent is no number or 64 bits do not count them.
std::int64_t constant_bytes(const Buffer& buffer);

// Are the buffer's shape and type those of the data?
bool has_type_of(const BufferNode& buffer, const Tensor& data);

// What is wrong with a buffer itself, a sentence for each rule that it breaks. It has at most
// kMostDimensions. No extent is negative. Its bytes can be counted, its elements are single values,
// and there is a stride for each dimension or none. One on the stack of a kernel has a size that is
// known, and at most kMaxStackBytes; one of a host program is in the host's memory.
std::vector<std::string> verify_buffer(const BufferNode& buffer, bool in_host_program);

}  // namespace tessera::tir
