// SPDX-License-Identifier: Apache-2.0
// Constant data: shared immutable bytes (owned, or mapped from a file) with a shape and dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "support/hash.h"
#include "support/id.h"
#include "types/type.h"

namespace tessera {

// Immutable bytes. Mapped blobs are read from the file only when touched; the hash is computed
// once, on demand.
class Blob {
 public:
  static std::shared_ptr<const Blob> copy_of(std::span<const std::byte> bytes);
  static std::shared_ptr<const Blob> adopt(std::vector<std::byte> bytes);
  // Maps [offset, offset + size) of a file; the file must not change while the blob lives. Many
  // tensors of one file: map the whole once and slice.
  static Result<std::shared_ptr<const Blob>> map_file(const std::string& path, std::uint64_t offset,
                                                      std::uint64_t size);
  // The whole file. Fails if it cannot be read or is empty.
  static Result<std::shared_ptr<const Blob>> map_file(const std::string& path);
  // A part of another blob, which it keeps alive.
  static std::shared_ptr<const Blob> slice(std::shared_ptr<const Blob> whole, std::uint64_t offset,
                                           std::uint64_t size);

  Blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  std::span<const std::byte> bytes() const { return bytes_; }
  std::uint64_t size_bytes() const { return bytes_.size(); }
  const Hash128& hash() const;
  // The bytes at an address that is a multiple of `align_bytes` (a power of two, at most 64): in
  // place, or a copy made once. Weights lie in model files at any offset.
  std::span<const std::byte> aligned_bytes(std::size_t align_bytes) const;
  // Tells the system that a mapped blob's pages are not needed for now (streaming of large weights)
  // and drops the aligned copy: spans from aligned_bytes and Tensor::as end here, those from
  // bytes() stay good.
  void release_pages() const;
  ~Blob();

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  struct AlignedCopy;
  bool mapped_ = false;
  mutable std::unique_ptr<Hash128> hash_;         // guarded by lazy_mutex in constants/blob.cc
  mutable std::unique_ptr<AlignedCopy> aligned_;  // the same
};

// Shape, dtype, bytes: row-major, dense, little endian. A bool takes one byte.
struct Tensor {
  std::vector<std::int64_t> shape;
  DType dtype;
  std::shared_ptr<const Blob> blob;

  Tensor() = default;
  Tensor(std::vector<std::int64_t> shape, DType dtype, std::shared_ptr<const Blob> blob);
  // Uninitialised result buffers of `eval` are built as vectors and adopted.
  template <class T>
  static Tensor of(std::vector<std::int64_t> shape, DType dtype, const std::vector<T>& values) {
    return Tensor(std::move(shape), dtype, Blob::copy_of(std::as_bytes(std::span(values))));
  }
  template <class T>
  static Tensor scalar(T value, DType dtype) {
    return Tensor({}, dtype, Blob::copy_of(std::as_bytes(std::span(&value, 1))));
  }

  bool is_scalar() const { return shape.empty(); }
  std::int64_t num_elements() const;
  std::int64_t size_bytes() const { return num_elements() * dtype.size_bytes(); }
  template <class T>
  std::span<const T> as() const {
    const auto bytes = blob->aligned_bytes(alignof(T));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  Type type() const;
  bool operator==(const Tensor& other) const;  // shape, dtype and bytes
  std::uint64_t hash() const;
};

// Element i as a double or integer, whatever the dtype (float16 and bfloat16 included).
double element_as_double(const Tensor& t, std::int64_t i);
std::int64_t element_as_int(const Tensor& t, std::int64_t i);
// A tensor of `dtype` from doubles / integers, rounded to nearest even.
Tensor tensor_from_doubles(std::vector<std::int64_t> shape, DType dtype,
                           std::span<const double> values);
Tensor tensor_from_ints(std::vector<std::int64_t> shape, DType dtype,
                        std::span<const std::int64_t> values);

struct ConstantTag;
using ConstantIndex = Id<ConstantTag>;
// In graph and loop IR alike a constant is an immediate tensor or an index into the module's pool:
// never both.
using ConstantValue = std::variant<Tensor, ConstantIndex>;

}  // namespace tessera
