// SPDX-License-Identifier: Apache-2.0
// What the reference evaluations (`eval`) share. They compute in two domains, whatever the dtype:
// double for floats, int64 for integers and bool; results are rounded once. Plain and slow is right
// here.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "constants/tensor.h"
#include "ops/evaluation/elements.h"
#include "relay/operator.h"

namespace tessera::ops {

// All elements in the domain T (double or int64). uint64 keeps its bits.
template <class T>
Elements<T> values_of(const Tensor& t);
template <>
Elements<double> values_of<double>(const Tensor& t);
template <>
Elements<std::int64_t> values_of<std::int64_t>(const Tensor& t);

Ints static_shape(const Type& type);
// Fails where a size is negative or the product does not fit: what is allocated is counted here.
std::int64_t count_of(std::span<const std::int64_t> shape);
Tensor tensor_of(const Type& type, std::span<const double> values);
Tensor tensor_of(const Type& type, std::span<const std::int64_t> values);

// f(T{}) with T the domain of `dtype`.
template <class F>
auto in_domain(DType dtype, F f) {
  if (dtype.is_float()) return f(double{});
  return f(std::int64_t{});
}

// NaN if either is, as `tir::max` and `tir::min` are.
template <class T>
T max_or_nan(T x, T y) {
  return x != x || x > y ? x : y;
}
template <class T>
T min_or_nan(T x, T y) {
  return x != x || x < y ? x : y;
}

// In elements.
Ints row_major_strides(std::span<const std::int64_t> shape);
// The strides to read `from` as if it had the (broadcast) shape `to`: 0 where it is repeated.
Ints broadcast_strides(std::span<const std::int64_t> from, std::span<const std::int64_t> to);

// Counts through all indices of a shape in row-major order: `for (Counter c(shape); c; ++c)`.
class Counter {
 public:
  explicit Counter(Ints shape);
  explicit operator bool() const { return left_ > 0; }
  Counter& operator++();
  const Ints& index() const { return index_; }
  std::int64_t operator[](std::size_t i) const { return index_[i]; }
  // The sum of index times stride.
  std::int64_t offset(std::span<const std::int64_t> strides) const;

 private:
  Ints shape_, index_;
  std::int64_t left_;
};

// The elements `offset + sum(index * stride)` of t, for all indices of `shape`, of any dtype. Fails
// where one lies outside of t.
Tensor strided_copy(const Tensor& t, const Ints& shape, const Ints& strides, std::int64_t offset);
// Element i of the result is element source(i) of t; bytes are moved, so any dtype will do.
template <class F>
Tensor gather_elements(const Tensor& t, const Ints& shape, F source) {
  const std::int64_t size = t.dtype.size_bytes(), there = t.num_elements();
  std::vector<std::byte> bytes(static_cast<std::size_t>(count_of(shape) * size));
  const std::byte* from = t.blob->bytes().data();
  std::int64_t at = 0;
  for (Counter c(shape); c; ++c, ++at) {
    const std::int64_t i = source(c);
    if (i < 0 || i >= there) fail_outside(i, there);
    std::memcpy(bytes.data() + at * size, from + i * size, static_cast<std::size_t>(size));
  }
  return Tensor(shape, t.dtype, Blob::adopt(std::move(bytes)));
}
// Another shape of the same bytes.
Tensor reshaped(const Tensor& t, Ints shape);

}  // namespace tessera::ops
