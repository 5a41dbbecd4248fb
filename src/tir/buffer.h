// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tir/expr.h"

namespace tessera::tir {

// Where a buffer lives. kGlobal: arena or caller's memory; kStack: a C array of the kernel's frame;
// kShared: memory that the threads of a block on a device have together.
enum class MemoryScope : std::uint8_t { kGlobal, kStack, kConstant, kShared };

inline constexpr std::int64_t kDefaultAlignBytes = 64;

// A dense row-major array unless strides are given (in elements). Identity is the pointer.
struct BufferNode : RefCounted {
  std::string name;
  DType dtype;
  std::vector<Expr> shape;    // int64
  std::vector<Expr> strides;  // empty: row-major dense
  MemoryScope scope = MemoryScope::kGlobal;
  std::int64_t align_bytes = kDefaultAlignBytes;
  static void destroy(const BufferNode* b);
};

// In a host program the sizes of a buffer may be decided after its definition: then its extents are
// numbers, and elements `sizes[d]` of an int64 vector, which is in scope. The buffer has memory
// from Reserve on. The vector, or null where a buffer is no such one.
Buffer sizes_vector(const Buffer& buffer);

Buffer make_buffer(std::string name, DType dtype, std::vector<Expr> shape,
                   MemoryScope scope = MemoryScope::kGlobal);
// The number of elements when every extent is a literal, else -1.
std::int64_t constant_size(const Buffer& buffer);
// The strides in elements, one a dimension; those of a dense row-major array where none are given.
std::vector<Expr> strides_of(const Buffer& buffer);

}  // namespace tessera::tir
