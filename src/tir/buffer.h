// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tir/expr.h"
#include "types/memory_space.h"

namespace tessera::tir {

// Whose a buffer is. kGlobal: arena or caller's memory; kStack: a C array of the function's frame;
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
  // Where its bytes are; none: in the main memory of the machine that the function is for.
  std::optional<MemorySpace> space = {};
  std::int64_t align_bytes = kDefaultAlignBytes;
  // Memory pools where an allocation may lie, in order of preference; one, once it has its place.
  std::vector<std::string> pools;
  // The first byte of an allocation in its pool, or of a view in its source; -1: none is chosen,
  // and a view shows all of its source.
  std::int64_t offset_bytes = -1;
  static void destroy(const BufferNode* b);
};

// In a host program the sizes of a buffer may be decided after its definition: then its extents are
// numbers, and elements `sizes[d]` of an int64 vector, which is in scope. The buffer has memory
// from Reserve on. The vector, or null where a buffer is no such one.
Buffer sizes_vector(const Buffer& buffer);

Buffer make_buffer(std::string name, DType dtype, std::vector<Expr> shape,
                   MemoryScope scope = MemoryScope::kGlobal);
// In the host's memory, whatever machine the function is for.
Buffer make_host_buffer(std::string name, DType dtype, std::vector<Expr> shape, MemoryScope scope);
// Does it say that it is in memory of the host?
bool is_on_host(const Buffer& buffer);
// The number of elements when every extent is a literal, else -1.
std::int64_t constant_size(const Buffer& buffer);
// The strides in elements, one a dimension; those of a dense row-major array where none are given.
std::vector<Expr> strides_of(const Buffer& buffer);

}  // namespace tessera::tir
