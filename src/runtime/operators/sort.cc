// SPDX-License-Identifier: Apache-2.0
// Sorting along an axis: the whole, its permutation, or the first k.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/operators/operators.h"
#include "runtime/operators/state.h"

namespace tessera::runtime {
namespace {

// x seen as [outer, length, inner]; the lines along the axis are outer * inner.
struct Lines {
  const tessera_tensor* x;
  tessera_tensor* values;   // or null
  tessera_tensor* indices;  // or null
  std::int64_t length, inner, lines;
  std::int64_t kept;  // of each line
  bool ascending;
  const OperatorState* state;
};

template <class Key>
struct Item {
  Key key;
  std::int64_t index;
};

bool less(std::int64_t a, std::int64_t b) { return a < b; }
bool less(std::uint64_t a, std::uint64_t b) { return a < b; }
// NaN is above all numbers, as one value, so that the order is total.
bool less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double half_to_double(std::uint16_t h) {
  const int exponent = h >> 10 & 0x1f, fraction = h & 0x3ff;
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : NAN;
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <class Stored>
Stored load(const char* at) {
  Stored value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Readers of one element as its key.
template <class Key, class Stored>
Key read_key(const char* at) {
  return static_cast<Key>(load<Stored>(at));
}
double read_half(const char* at) { return half_to_double(load<std::uint16_t>(at)); }
double read_bfloat(const char* at) {
  return from_bits(static_cast<std::uint32_t>(load<std::uint16_t>(at)) << 16);
}

char* data_of(const tessera_tensor& t) { return static_cast<char*>(t.data) + t.byte_offset; }

void write_index(const tessera_tensor& to, std::int64_t at, std::int64_t index) {
  if (to.dtype.bits == 64) {
    reinterpret_cast<std::int64_t*>(data_of(to))[at] = index;
  } else {
    reinterpret_cast<std::int32_t*>(data_of(to))[at] = static_cast<std::int32_t>(index);
  }
}

template <class Key>
void order(Item<Key>* items, const Lines& lines) {
  const auto before = [ascending = lines.ascending](const Item<Key>& a, const Item<Key>& b) {
    if (ascending ? less(a.key, b.key) : less(b.key, a.key)) return true;
    if (ascending ? less(b.key, a.key) : less(a.key, b.key)) return false;
    return a.index < b.index;
  };
  Item<Key>* end = items + lines.length;
  if (lines.kept < lines.length / 2) {
    std::partial_sort(items, items + lines.kept, end, before);
  } else {
    std::sort(items, end, before);
  }
}

template <class Key, Key (*read)(const char*)>
std::int32_t sort_lines(void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
  static_assert(sizeof(Item<Key>) == kScratchBytesPerElement);
  const auto& lines = *static_cast<const Lines*>(closure);
  auto* items = static_cast<Item<Key>*>(lines.state->scratch_of(worker));
  const std::int64_t bytes = lines.x->dtype.bits / 8;
  for (std::int64_t line = begin; line < end; ++line) {
    const std::int64_t outer = line / lines.inner, inner = line % lines.inner;
    const char* from = data_of(*lines.x) + (outer * lines.length * lines.inner + inner) * bytes;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      items[i] = {read(from + i * lines.inner * bytes), i};
    }
    order(items, lines);
    for (std::int64_t i = 0; i < lines.kept; ++i) {
      const std::int64_t to = (outer * lines.kept + i) * lines.inner + inner;
      if (lines.indices != nullptr) write_index(*lines.indices, to, items[i].index);
      if (lines.values != nullptr) {
        std::memcpy(data_of(*lines.values) + to * bytes,
                    from + items[i].index * lines.inner * bytes, static_cast<std::size_t>(bytes));
      }
    }
  }
  return 0;
}

tessera_range_fn sorter(tessera_dtype dtype) {
  using I = std::int64_t;
  using U = std::uint64_t;
  switch (dtype.code << 8 | dtype.bits) {
    case TESSERA_INT << 8 | 8:
      return sort_lines<I, read_key<I, std::int8_t>>;
    case TESSERA_INT << 8 | 16:
      return sort_lines<I, read_key<I, std::int16_t>>;
    case TESSERA_INT << 8 | 32:
      return sort_lines<I, read_key<I, std::int32_t>>;
    case TESSERA_INT << 8 | 64:
      return sort_lines<I, read_key<I, I>>;
    case TESSERA_BOOL << 8 | 8:
    case TESSERA_UINT << 8 | 8:
      return sort_lines<U, read_key<U, std::uint8_t>>;
    case TESSERA_UINT << 8 | 16:
      return sort_lines<U, read_key<U, std::uint16_t>>;
    case TESSERA_UINT << 8 | 32:
      return sort_lines<U, read_key<U, std::uint32_t>>;
    case TESSERA_UINT << 8 | 64:
      return sort_lines<U, read_key<U, U>>;
    case TESSERA_FLOAT << 8 | 16:
      return sort_lines<double, read_half>;
    case TESSERA_BFLOAT << 8 | 16:
      return sort_lines<double, read_bfloat>;
    case TESSERA_FLOAT << 8 | 32:
      return sort_lines<double, read_key<double, float>>;
    case TESSERA_FLOAT << 8 | 64:
      return sort_lines<double, read_key<double, double>>;
    default:
      return nullptr;
  }
}

bool is_index(const tessera_tensor* t) {
  return t == nullptr ||
         (t->dtype.code == TESSERA_INT && (t->dtype.bits == 32 || t->dtype.bits == 64));
}

// Sorts `x` along the operator's axis into what is not null. k < 1: all.
std::int32_t sort(const tessera_call* call, const tessera_tensor* x, tessera_tensor* values,
                  tessera_tensor* indices, std::int64_t k, bool ascending_by_default) {
  OperatorState* state = operator_state(call);
  if (state == nullptr) return 1;
  std::int64_t axis = -1, ascending = ascending_by_default ? 1 : 0;
  if (!state->graph.attr_int(*state->node, "axis", &axis) ||
      !state->graph.attr_int(*state->node, "is_ascend", &ascending)) {
    return operator_error(call, "sort: an attribute is not a number");
  }
  axis += axis < 0 ? x->ndim : 0;
  const tessera_range_fn fn = sorter(x->dtype);
  if (axis < 0 || axis >= x->ndim) return operator_error(call, "sort: there is no such axis");
  if (fn == nullptr || !is_index(indices))
    return operator_error(call, "sort: a dtype without order");
  Lines lines = {x, values, indices, x->shape[axis], 1, 1, 0, false, state};
  for (std::int32_t d = 0; d < x->ndim; ++d) {
    if (d > axis) lines.inner *= x->shape[d];
    if (d != axis) lines.lines *= x->shape[d];
  }
  lines.kept = k < 1 ? lines.length : std::min(k, lines.length);
  lines.ascending = ascending != 0;
  if (!state->reserve(static_cast<std::uint64_t>(lines.length), call->threads)) {
    return operator_error(call, "sort: out of memory");
  }
  return tessera_parallel_for(call, lines.lines, fn, &lines);
}

}  // namespace
}  // namespace tessera::runtime

using namespace tessera::runtime;

std::int32_t tessera_topk(const tessera_call* call, tessera_tensor** tensors, std::int32_t count) {
  const OperatorState* state = operator_state(call);
  if (state == nullptr) return 1;
  const std::string_view outputs = state->graph.attr_text(*state->node, "ret_type");
  const bool values = outputs != "indices", indices = outputs != "values";
  if (count != 1 + (values ? 1 : 0) + (indices ? 1 : 0)) {
    return operator_error(call, "topk: another number of tensors than its ret_type says");
  }
  std::int64_t k = 1;
  if (!state->graph.attr_int(*state->node, "k", &k)) {
    return operator_error(call, "topk: an attribute is not a number");
  }
  return sort(call, tensors[0], values ? tensors[1] : nullptr,
              indices ? tensors[count - 1] : nullptr, k, false);
}

std::int32_t tessera_sort(const tessera_call* call, tessera_tensor** tensors, std::int32_t count) {
  if (count != 2) return operator_error(call, "sort: one operand and one result");
  return sort(call, tensors[0], tensors[1], nullptr, 0, true);
}

std::int32_t tessera_argsort(const tessera_call* call, tessera_tensor** tensors,
                             std::int32_t count) {
  if (count != 2) return operator_error(call, "argsort: one operand and one result");
  return sort(call, tensors[0], nullptr, tensors[1], 0, true);
}
