// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/evaluate.h"

#include <algorithm>
#include <type_traits>

#include "ops/evaluation/to_integer.h"
#include "support/check.h"
#include "support/f16.h"

namespace tessera::ops {
namespace {

// Mapped weights need not be aligned, hence memcpy.
template <class From>
From element(const Tensor& t, std::size_t i) {
  From value;
  std::memcpy(&value, t.blob->bytes().data() + i * sizeof(From), sizeof(From));
  return value;
}

template <class T, class From>
T number(From value) {
  if constexpr (std::is_integral_v<T> && std::is_floating_point_v<From>) {
    return static_cast<T>(to_integer(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T, class From>
Elements<T> converted(const Tensor& t) {
  std::vector<T> out(checked_count(t.num_elements()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = number<T>(element<From>(t, i));
  return Elements<T>(std::move(out));
}

template <class T, class F>
Elements<T> widened(const Tensor& t, F value) {
  std::vector<T> out(checked_count(t.num_elements()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = number<T>(value(element<std::uint16_t>(t, i)));
  }
  return Elements<T>(std::move(out));
}

template <class T>
Elements<T> all_values(const Tensor& t) {
  const DType d = t.dtype;
  if (d == kFloat32) return converted<T, float>(t);
  if (d == kFloat64) return converted<T, double>(t);
  if (d == kFloat16) return widened<T>(t, float16_value);
  if (d == kBFloat16) return widened<T>(t, bfloat16_value);
  if (d == kInt64) return converted<T, std::int64_t>(t);
  if (d == kInt32) return converted<T, std::int32_t>(t);
  if (d == kInt16) return converted<T, std::int16_t>(t);
  if (d == kInt8) return converted<T, std::int8_t>(t);
  if (d == kUInt64) return converted<T, std::uint64_t>(t);
  if (d == kUInt32) return converted<T, std::uint32_t>(t);
  if (d == kUInt16) return converted<T, std::uint16_t>(t);
  TESSERA_CHECK(d == kUInt8 || d.is_bool(), "no evaluation of {}", to_string(d));
  return converted<T, std::uint8_t>(t);
}

}  // namespace

template <>
Elements<double> values_of<double>(const Tensor& t) {
  return all_values<double>(t);
}
template <>
Elements<std::int64_t> values_of<std::int64_t>(const Tensor& t) {
  return all_values<std::int64_t>(t);
}

Ints static_shape(const Type& type) {
  auto shape = constant_shape(type.shape());
  TESSERA_CHECK(shape.has_value(), "evaluation of a tensor of unknown size: {}", to_string(type));
  return *shape;
}

std::int64_t count_of(std::span<const std::int64_t> shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t n = 1;
  for (const std::int64_t d : shape) {
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) checked_count(-1);
  }
  return n;
}

Tensor tensor_of(const Type& type, std::span<const double> values) {
  return tensor_from_doubles(static_shape(type), type.dtype(), values);
}
Tensor tensor_of(const Type& type, std::span<const std::int64_t> values) {
  return tensor_from_ints(static_shape(type), type.dtype(), values);
}

Ints row_major_strides(std::span<const std::int64_t> shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Ints broadcast_strides(std::span<const std::int64_t> from, std::span<const std::int64_t> to) {
  const Ints dense = row_major_strides(from);
  Ints strides(to.size(), 0);
  const std::size_t skipped = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) strides[i + skipped] = dense[i];
  }
  return strides;
}

Counter::Counter(Ints shape) : shape_(std::move(shape)), index_(shape_.size(), 0) {
  left_ = count_of(shape_);
}

Counter& Counter::operator++() {
  --left_;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    if (++index_[i] < shape_[i]) break;
    index_[i] = 0;
  }
  return *this;
}

std::int64_t Counter::offset(std::span<const std::int64_t> strides) const {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < index_.size(); ++i) at += index_[i] * strides[i];
  return at;
}

namespace {

// Do all places of a strided copy lie among `count` elements?
void expect_inside(const Ints& shape, const Ints& strides, std::int64_t offset,
                   std::int64_t count) {
  std::int64_t low = offset, high = offset;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
      fail_outside(reach < 0 ? INT64_MIN : INT64_MAX, count);
    }
  }
  if (low < 0) fail_outside(low, count);
  if (high >= count) fail_outside(high, count);
}

}  // namespace

Tensor strided_copy(const Tensor& t, const Ints& shape, const Ints& strides, std::int64_t offset) {
  const std::int64_t size = t.dtype.size_bytes();
  const std::int64_t count = count_of(shape);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * size));
  if (count == 0) return Tensor(shape, t.dtype, Blob::adopt(std::move(bytes)));
  expect_inside(shape, strides, offset, t.num_elements());
  const std::byte* from = t.blob->bytes().data() + offset * size;
  std::byte* to = bytes.data();
  // The innermost dimension as a run, the others by counting.
  const std::int64_t run = shape.empty() ? 1 : shape.back();
  const std::int64_t step = (shape.empty() ? 1 : strides.back()) * size;
  const Ints outer(shape.begin(), shape.empty() ? shape.end() : shape.end() - 1);
  for (Counter c(outer); c; ++c, to += run * size) {
    const std::byte* row = from + c.offset(strides) * size;
    if (step == size) {
      std::memcpy(to, row, static_cast<std::size_t>(run * size));
    } else if (size == 4) {  // most weights: worth a loop of constant size
      for (std::int64_t i = 0; i < run; ++i) std::memcpy(to + i * 4, row + i * step, 4);
    } else {
      for (std::int64_t i = 0; i < run; ++i) {
        std::memcpy(to + i * size, row + i * step, static_cast<std::size_t>(size));
      }
    }
  }
  return Tensor(shape, t.dtype, Blob::adopt(std::move(bytes)));
}

Tensor reshaped(const Tensor& t, Ints shape) { return Tensor(std::move(shape), t.dtype, t.blob); }

}  // namespace tessera::ops
