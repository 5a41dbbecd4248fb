// SPDX-License-Identifier: Apache-2.0
// A copy of data in which the elements that indices name are updated, one after the other: the last
// update of a place wins. An index that lies outside names nothing.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/operators/operators.h"
#include "runtime/operators/state.h"

namespace tessera::runtime {
namespace {

constexpr std::int32_t kMaxRank = 16;

enum class Mode { kUpdate, kAdd, kMul, kMin, kMax, kUnknown };

Mode mode_of(std::string_view text) {
  if (text.empty() || text == "update") return Mode::kUpdate;
  if (text == "add") return Mode::kAdd;
  if (text == "mul") return Mode::kMul;
  if (text == "min") return Mode::kMin;
  return text == "max" ? Mode::kMax : Mode::kUnknown;
}

// Sums and products of integers wrap; a NaN is both the least and the largest number.
template <Mode kMode, class T>
T updated(T old, T update) {
  if constexpr (kMode == Mode::kMin || kMode == Mode::kMax) {
    if (old != old) return old;  // NOLINT(misc-redundant-expression): NaN
    const bool is_kept = kMode == Mode::kMin ? old < update : old > update;
    return is_kept ? old : update;
  } else if constexpr (std::is_floating_point_v<T>) {
    return kMode == Mode::kAdd ? old + update : old * update;
  } else {
    const auto a = static_cast<std::uint64_t>(old), b = static_cast<std::uint64_t>(update);
    return static_cast<T>(kMode == Mode::kAdd ? a + b : a * b);
  }
}

using Combine = void (*)(char* to, const char* from, std::int64_t count);

template <Mode kMode, class T>
void combine(char* to, const char* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T old, update;
    std::memcpy(&old, to + i * sizeof(T), sizeof(T));
    std::memcpy(&update, from + i * sizeof(T), sizeof(T));
    old = updated<kMode>(old, update);
    std::memcpy(to + i * sizeof(T), &old, sizeof(T));
  }
}

template <std::size_t kBytes>
void copy(char* to, const char* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * kBytes);
}

template <Mode kMode>
Combine combine_of(const tessera_dtype& dtype) {
  const bool is_float = dtype.code == TESSERA_FLOAT, is_signed = dtype.code == TESSERA_INT;
  if (is_float) {
    return dtype.bits == 32   ? combine<kMode, float>
           : dtype.bits == 64 ? combine<kMode, double>
                              : nullptr;
  }
  if (!is_signed && dtype.code != TESSERA_UINT) return nullptr;
  switch (dtype.bits) {
    case 8:
      return is_signed ? combine<kMode, std::int8_t> : combine<kMode, std::uint8_t>;
    case 16:
      return is_signed ? combine<kMode, std::int16_t> : combine<kMode, std::uint16_t>;
    case 32:
      return is_signed ? combine<kMode, std::int32_t> : combine<kMode, std::uint32_t>;
    case 64:
      return is_signed ? combine<kMode, std::int64_t> : combine<kMode, std::uint64_t>;
    default:
      return nullptr;
  }
}

Combine combine_of(Mode mode, const tessera_dtype& dtype) {
  switch (mode) {
    case Mode::kUpdate:
      return dtype.bits == 8    ? copy<1>
             : dtype.bits == 16 ? copy<2>
             : dtype.bits == 32 ? copy<4>
             : dtype.bits == 64 ? copy<8>
                                : nullptr;
    case Mode::kAdd:
      return combine_of<Mode::kAdd>(dtype);
    case Mode::kMul:
      return combine_of<Mode::kMul>(dtype);
    case Mode::kMin:
      return combine_of<Mode::kMin>(dtype);
    case Mode::kMax:
      return combine_of<Mode::kMax>(dtype);
    case Mode::kUnknown:
      break;
  }
  return nullptr;
}

char* bytes_of(const tessera_tensor& t) { return static_cast<char*>(t.data) + t.byte_offset; }

template <class T>
std::int64_t load(const char* bytes, std::int64_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return static_cast<std::int64_t>(value);
}

// Integers of any type, as indices into a dimension.
class Indices {
 public:
  explicit Indices(const tessera_tensor& t)
      : bytes_(bytes_of(t)), bits_(t.dtype.bits), is_signed_(t.dtype.code == TESSERA_INT) {}

  // One from the end is negative. False: it lies outside.
  bool read(std::int64_t i, std::int64_t size, std::int64_t* index) const {
    *index = element(i);
    if (*index < 0) *index += size;
    return *index >= 0 && *index < size;
  }

 private:
  std::int64_t element(std::int64_t i) const {
    switch (bits_) {
      case 8:
        return is_signed_ ? load<std::int8_t>(bytes_, i) : load<std::uint8_t>(bytes_, i);
      case 16:
        return is_signed_ ? load<std::int16_t>(bytes_, i) : load<std::uint16_t>(bytes_, i);
      case 32:
        return is_signed_ ? load<std::int32_t>(bytes_, i) : load<std::uint32_t>(bytes_, i);
      default:
        return load<std::int64_t>(bytes_, i);
    }
  }

  const char* bytes_;
  int bits_;
  bool is_signed_;
};

std::int64_t product(const std::int64_t* sizes, std::int32_t count) {
  std::int64_t all = 1;
  for (std::int32_t d = 0; d < count; ++d) all *= sizes[d];
  return all;
}

// The tensors of a call, with the result as a copy of the data.
struct Scatter {
  const tessera_tensor& data;
  const tessera_tensor& index;
  const char* updates;
  char* result;
  std::int64_t bytes;  // of an element
  Combine combine;
  Indices indices;
};

bool has_same_shape(const tessera_tensor& a, const tessera_tensor& b) {
  return a.ndim == b.ndim &&
         std::memcmp(a.shape, b.shape, static_cast<std::size_t>(a.ndim) * sizeof *a.shape) == 0;
}

// Slices of the dimensions that no index names.
void scatter_slices(const Scatter& s) {
  const auto depth = static_cast<std::int32_t>(s.index.shape[0]);
  const std::int64_t places = product(s.index.shape + 1, s.index.ndim - 1);
  const std::int64_t slice = product(s.data.shape + depth, s.data.ndim - depth);
  for (std::int64_t place = 0; place < places; ++place) {
    std::int64_t at = 0;
    bool is_inside = true;
    for (std::int32_t d = 0; d < depth && is_inside; ++d) {
      std::int64_t i = 0;
      is_inside = s.indices.read(d * places + place, s.data.shape[d], &i);
      at = at * s.data.shape[d] + i;
    }
    if (!is_inside) continue;
    s.combine(s.result + at * slice * s.bytes, s.updates + place * slice * s.bytes, slice);
  }
}

// Elements, row by row of the last dimension.
void scatter_along(const Scatter& s, std::int32_t axis) {
  const std::int32_t last = s.data.ndim - 1;
  std::int64_t strides[kMaxRank], row[kMaxRank] = {};
  for (std::int32_t d = last; d >= 0; --d) {
    strides[d] = d == last ? 1 : strides[d + 1] * s.data.shape[d + 1];
  }
  const std::int64_t width = s.index.shape[last], rows = product(s.index.shape, last);
  for (std::int64_t r = 0, next = 0; r < rows; ++r) {
    std::int64_t base = 0;
    for (std::int32_t d = 0; d < last; ++d) base += d == axis ? 0 : row[d] * strides[d];
    for (std::int64_t j = 0; j < width; ++j, ++next) {
      std::int64_t i = 0;
      if (!s.indices.read(next, s.data.shape[axis], &i)) continue;
      const std::int64_t at = base + i * strides[axis] + (axis == last ? 0 : j);
      s.combine(s.result + at * s.bytes, s.updates + next * s.bytes, 1);
    }
    for (std::int32_t d = last; d-- > 0 && ++row[d] == s.index.shape[d];) row[d] = 0;
  }
}

// What both operators have in common; null: there is no such operator.
const char* problem(std::int32_t count, tessera_tensor** tensors) {
  if (count != 4) return "scatter: three operands and one result";
  if (tensors[0]->ndim > kMaxRank || tensors[1]->ndim < 1) return "scatter: wrong ranks";
  if (!has_same_shape(*tensors[0], *tensors[3])) return "scatter: the result has another shape";
  return nullptr;
}

Scatter begin_scatter(tessera_tensor** tensors, Combine combine) {
  const tessera_tensor& data = *tensors[0];
  const std::int64_t bytes = data.dtype.bits / 8;
  const Scatter s = {data,  *tensors[1], bytes_of(*tensors[2]), bytes_of(*tensors[3]),
                     bytes, combine,     Indices(*tensors[1])};
  const auto size = static_cast<std::size_t>(product(data.shape, data.ndim) * bytes);
  if (size > 0) std::memmove(s.result, bytes_of(data), size);
  return s;
}

bool is_slice_scatter(tessera_tensor** tensors) {
  const tessera_tensor &data = *tensors[0], &index = *tensors[1], &updates = *tensors[2];
  const std::int64_t depth = index.shape[0];
  if (depth < 0 || depth > data.ndim) return false;
  const auto named = static_cast<std::int32_t>(depth);
  return product(updates.shape, updates.ndim) ==
         product(index.shape + 1, index.ndim - 1) * product(data.shape + named, data.ndim - named);
}

bool is_element_scatter(tessera_tensor** tensors, std::int64_t axis) {
  const tessera_tensor &data = *tensors[0], &index = *tensors[1], &updates = *tensors[2];
  if (data.ndim != index.ndim || axis < 0 || axis >= data.ndim) return false;
  for (std::int32_t d = 0; d < data.ndim; ++d) {
    if (d != axis && index.shape[d] > data.shape[d]) return false;
  }
  return has_same_shape(index, updates);
}

}  // namespace
}  // namespace tessera::runtime

std::int32_t tessera_scatter_nd(const tessera_call* call, tessera_tensor** tensors,
                                std::int32_t count) {
  using namespace tessera::runtime;
  const OperatorState* state = operator_state(call);
  if (state == nullptr) return 1;
  if (const char* what = problem(count, tensors)) return operator_error(call, what);
  if (!is_slice_scatter(tensors)) return operator_error(call, "scatter_nd: sizes do not agree");
  const Mode mode = mode_of(state->graph.attr_text(*state->node, "mode"));
  const Combine combine = combine_of(mode, tensors[0]->dtype);
  if (combine == nullptr) return operator_error(call, "scatter_nd: no such update of this type");
  scatter_slices(begin_scatter(tensors, combine));
  return 0;
}

std::int32_t tessera_scatter_elements(const tessera_call* call, tessera_tensor** tensors,
                                      std::int32_t count) {
  using namespace tessera::runtime;
  const OperatorState* state = operator_state(call);
  if (state == nullptr) return 1;
  if (const char* what = problem(count, tensors)) return operator_error(call, what);
  std::int64_t axis = 0;
  if (!state->graph.attr_int(*state->node, "axis", &axis)) axis = tensors[0]->ndim;
  if (axis < 0) axis += tensors[0]->ndim;
  if (!is_element_scatter(tensors, axis)) {
    return operator_error(call, "scatter_elements: sizes do not agree");
  }
  const Mode mode = mode_of(state->graph.attr_text(*state->node, "reduction"));
  const Combine combine = combine_of(mode, tensors[0]->dtype);
  if (combine == nullptr) {
    return operator_error(call, "scatter_elements: no such update of this type");
  }
  scatter_along(begin_scatter(tensors, combine), static_cast<std::int32_t>(axis));
  return 0;
}
