// SPDX-License-Identifier: Apache-2.0
#include "tir/buffer.h"

#include "tir/destroy.h"

namespace tessera::tir {

void BufferNode::destroy(const BufferNode* b) { drop_node(b); }

Buffer make_buffer(std::string name, DType dtype, std::vector<Expr> shape, MemoryScope scope) {
  auto* b = new BufferNode;
  const Buffer owner(b);
  b->name = std::move(name);
  b->dtype = dtype;
  b->shape = std::move(shape);
  b->scope = scope;
  return owner;
}

Buffer make_host_buffer(std::string name, DType dtype, std::vector<Expr> shape, MemoryScope scope) {
  auto* b = new BufferNode(*make_buffer(std::move(name), dtype, std::move(shape), scope));
  b->space = MemorySpace();
  return Buffer(b);
}

bool is_on_host(const Buffer& buffer) {
  return buffer->space && tessera::is_on_host(*buffer->space);
}

Buffer sizes_vector(const Buffer& buffer) {
  for (const Expr& extent : buffer->shape) {
    if (const auto* load = extent.as<Load>()) return load->buffer;
  }
  return {};
}

std::int64_t constant_size(const Buffer& buffer) {
  std::int64_t size = 1;
  for (const Expr& extent : buffer->shape) {
    const std::int64_t* n = as_int(extent);
    if (n == nullptr || __builtin_mul_overflow(size, *n, &size)) return -1;
  }
  return size;
}

std::vector<Expr> strides_of(const Buffer& buffer) {
  if (!buffer->strides.empty()) return buffer->strides;
  std::vector<Expr> strides(buffer->shape.size());
  Expr stride = 1;
  for (std::size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride = is_int(stride, 1) ? buffer->shape[i] : stride * buffer->shape[i];
  }
  return strides;
}

}  // namespace tessera::tir
