// SPDX-License-Identifier: Apache-2.0
#include "constants/tensor.h"

#include <limits>

#include "support/check.h"

namespace tessera {
namespace {

// The number of elements; nothing if a size is negative or the product does not fit.
std::int64_t checked_num_elements(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    TESSERA_CHECK(size >= 0, "a tensor has the negative size {}", size);
    if (size == 0) return 0;
  }
  for (const std::int64_t size : shape) {
    TESSERA_CHECK(!__builtin_mul_overflow(product, size, &product),
                  "the size of a tensor overflows");
  }
  return product;
}

}  // namespace

Tensor::Tensor(std::vector<std::int64_t> sizes, DType type, std::shared_ptr<const Blob> data)
    : shape(std::move(sizes)), dtype(type), blob(std::move(data)) {
  TESSERA_CHECK(blob != nullptr);
  const std::int64_t count = checked_num_elements(shape);
  TESSERA_CHECK(count <= std::numeric_limits<std::int64_t>::max() / dtype.size_bytes());
  TESSERA_CHECK(blob->size_bytes() == static_cast<std::uint64_t>(count * dtype.size_bytes()),
                "{} elements of {} do not take {} bytes", count, tessera::to_string(dtype),
                blob->size_bytes());
}

std::int64_t Tensor::num_elements() const {
  std::int64_t product = 1;  // checked when the tensor was made
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
  }
  for (const std::int64_t size : shape) product *= size;
  return product;
}

Type Tensor::type() const { return tensor_type(Shape(shape.begin(), shape.end()), dtype); }

bool Tensor::operator==(const Tensor& other) const {
  if (shape != other.shape || dtype != other.dtype) return false;
  if (blob == other.blob) return true;
  if (!blob || !other.blob || blob->size_bytes() != other.blob->size_bytes()) return false;
  return blob->hash() == other.blob->hash();
}

std::uint64_t Tensor::hash() const {
  std::uint64_t h = hash_combine(static_cast<std::uint64_t>(dtype.code),
                                 (std::uint64_t{dtype.bits} << 16) | dtype.lanes);
  for (const std::int64_t size : shape) h = hash_combine(h, static_cast<std::uint64_t>(size));
  return blob ? hash_combine(h, blob->hash().low) : h;
}

}  // namespace tessera
