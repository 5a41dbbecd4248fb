// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/dynamic_shape.h"
#include "ops/records/elementwise.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

// Which element of the lists each dimension has; -1: none, it stays whole.
std::vector<int> places_of(const DynStridedSliceAttrs& p, std::size_t count, std::size_t rank) {
  std::vector<int> places(rank, -1);
  for (std::size_t k = 0; k < count; ++k) {
    places[p.axes ? front_axis((*p.axes)[k], rank) : k] = static_cast<int>(k);
  }
  return places;
}

// The slice of one dimension; D is Dim, or Expr when the loops are made.
template <class D>
struct Slice {
  D begin, end, stride;
};

bool is_not_negative(const Dim& d) { return max(d, Dim(0)) == d; }

// The size of a slice whose stride is a known positive number; `?` where a sign is not known.
Dim sliced_size_of_dyn_strided_slice(const Slice<Dim>& s, const Dim& size, bool size_mode) {
  if (size_mode) return s.end;
  const auto from_front = [&](const Dim& at) {
    if (at.is_unknown()) return at;
    if (at.is_constant() && at.constant() < 0) return max(size + at, Dim(0));
    if (at.is_constant() && at.constant() >= kFarAway) return size;
    if (at == Dim(0)) return Dim(0);
    return is_not_negative(at) ? min(at, size) : Dim::unknown();
  };
  if (!s.stride.is_constant() || s.stride.constant() <= 0) return Dim::unknown();
  const Dim begin = from_front(s.begin), end = from_front(s.end);
  if (begin.is_unknown() || end.is_unknown()) return Dim::unknown();
  return ceil_div(max(end - begin, Dim(0)), s.stride);
}

// In mode "size": does the slice lie inside, as far as the numbers are known?
bool may_fit(const Slice<Dim>& s, const Dim& size) {
  for (const Dim* d : {&s.begin, &s.end, &s.stride, &size}) {
    if (!d->is_constant()) return true;
  }
  const std::int64_t n = size.constant(), stride = s.stride.constant(), count = s.end.constant();
  const std::int64_t at = s.begin.constant() < 0 ? s.begin.constant() + n : s.begin.constant();
  const std::int64_t first =
      std::clamp<std::int64_t>(at, stride < 0 ? -1 : 0, stride < 0 ? n - 1 : n);
  if (count <= 0) return count == 0;
  std::int64_t last = 0;
  if (__builtin_mul_overflow(count - 1, stride, &last)) return false;
  if (__builtin_add_overflow(first, last, &last)) return false;
  return std::min(first, last) >= 0 && std::max(first, last) < n;
}

Result<Type> infer_dyn_strided_slice(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<DynStridedSliceAttrs>(args.attrs);
  if (p.slice_mode != "end" && p.slice_mode != "size") {
    return refuse(args, Code::kWrongAttribute, "has slice_mode \"{}\"; it is \"end\" or \"size\"",
                  p.slice_mode);
  }
  TESSERA_TRY(const Shape begin, shape_operand(args, 1));
  TESSERA_TRY(const Shape end, shape_operand(args, 2));
  TESSERA_TRY(const Shape strides, shape_operand(args, 3));
  if (begin.size() != end.size() || begin.size() != strides.size() || begin.size() > data.rank() ||
      (p.axes && p.axes->size() != begin.size())) {
    return refuse(args, Code::kWrongAttribute,
                  "has begin, end, strides and axes of different lengths for a tensor of rank {}",
                  data.rank());
  }
  TESSERA_TRY_VOID(chosen_axes(args, p.axes, false, data.rank()));
  Shape shape = data.shape();
  const std::vector<int> places = places_of(p, begin.size(), data.rank());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (places[d] < 0) continue;
    const auto k = static_cast<std::size_t>(places[d]);
    if (p.slice_mode == "size" && !may_fit({begin[k], end[k], strides[k]}, shape[d])) {
      return refuse(args, Code::kWrongAttribute,
                    "takes {} elements from {} on of dimension {}, which has {}", to_string(end[k]),
                    to_string(begin[k]), d, to_string(shape[d]));
    }
    shape[d] = sliced_size_of_dyn_strided_slice({begin[k], end[k], strides[k]}, shape[d],
                                                p.slice_mode == "size");
  }
  return tensor_type(std::move(shape), data.dtype());
}

Expr clamped(const Expr& x, const Expr& low, const Expr& high) {
  return tir::min(tir::max(x, low), high);
}

// The elements of the lists for a dimension: literals where they are constants.
Slice<Expr> slice_at(const ComputeArgs& args, int place) {
  const auto element = [&](std::size_t operand) {
    if (args.values[operand] != nullptr) {
      return Expr(element_as_int(*args.values[operand], place));
    }
    return tir::cast(args.operands[operand]({static_cast<std::int64_t>(place)}), kInt64);
  };
  return {element(1), element(2), element(3)};
}

// A place as Python counts it, brought into the tensor.
Expr brought_in(const Expr& at, const Expr& stride, const Expr& size) {
  const Expr from_front = tir::select(tir::lt(at, 0), at + size, at);
  const Expr low = tir::select(tir::lt(stride, 0), Expr(-1), Expr(0));
  const Expr high = tir::select(tir::lt(stride, 0), size - 1, size);
  return clamped(from_front, low, high);
}

std::vector<int> places_of(const ComputeArgs& args) {
  const auto p = relay::read_attrs<DynStridedSliceAttrs>(args.attrs);
  const auto count = *args.operand_types[1].shape()[0].as_constant();
  return places_of(p, static_cast<std::size_t>(count), args.operands[0].rank());
}

Definitions compute_dyn_strided_slice(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const std::vector<int> places = places_of(args);
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    for (std::size_t d = 0; d < i.size(); ++d) {
      if (places[d] < 0) continue;
      const Slice<Expr> s = slice_at(args, places[d]);
      const std::int64_t* begin = tir::as_int(s.begin);
      const std::int64_t* stride = tir::as_int(s.stride);
      const bool from_start = begin != nullptr && *begin == 0 && stride != nullptr && *stride > 0;
      const Expr first = from_start ? Expr(0) : brought_in(s.begin, s.stride, data.shape()[d]);
      at[d] = from_start && *stride == 1 ? i[d] : first + i[d] * s.stride;
    }
    return data(at);
  });
}

Definitions shape_of_dyn_strided_slice(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const std::vector<int> places = places_of(args);
  const bool size_mode = relay::read_attrs<DynStridedSliceAttrs>(args.attrs).slice_mode == "size";
  return define_sizes(data.rank(), [&](std::size_t d) {
    if (places[d] < 0) return data.shape()[d];
    const Slice<Expr> s = slice_at(args, places[d]);
    if (size_mode) {
      const Expr first = brought_in(s.begin, s.stride, data.shape()[d]);
      const Expr last = first + (s.end - 1) * s.stride;
      const Expr fits = tir::logical_and(tir::le(0, tir::min(first, last)),
                                         tir::lt(tir::max(first, last), data.shape()[d]));
      return tir::select(tir::logical_or(tir::eq(s.end, 0), fits), s.end, Expr(-1));
    }
    const Expr span = brought_in(s.end, s.stride, data.shape()[d]) -
                      brought_in(s.begin, s.stride, data.shape()[d]);
    const Expr count = tir::max(Expr(0) - tir::floor_div(Expr(0) - span, s.stride), Expr(0));
    return tir::select(tir::eq(s.stride, 0), Expr(-1), count);  // which is no size
  });
}

std::vector<Tensor> eval_dyn_strided_slice(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const auto p = relay::read_attrs<DynStridedSliceAttrs>(args.attrs);
  const Ints begin = list_of(args.operands[1]), steps = list_of(args.operands[3]);
  const std::vector<int> places = places_of(p, begin.size(), data.shape.size());
  Ints strides = row_major_strides(data.shape);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (places[d] < 0) continue;
    const auto k = static_cast<std::size_t>(places[d]);
    const std::int64_t size = data.shape[d], at = begin[k] < 0 ? begin[k] + size : begin[k];
    const bool back = steps[k] < 0;
    offset += std::clamp<std::int64_t>(at, back ? -1 : 0, back ? size - 1 : size) * strides[d];
    strides[d] = wrapping_multiply(strides[d], steps[k]);
  }
  return {strided_copy(data, static_shape(args.result), strides, offset)};
}

}  // namespace

constexpr Operator kDynStridedSlice{
    .name = "dyn.strided_slice",
    .doc =
        "y[i...] = data[begin + i * stride ...] on the dimensions `axes`, the lists known at run "
        "time; Python's rules. In mode \"size\" `end` holds sizes, and begin + size lies inside   "
        "data: T[d...], begin, end, strides: int64[n] -> T[ceil((end - begin) / stride)...]",
    .operands = {"data", "begin", "end", "strides"},
    .attrs = relay::attr_schema<DynStridedSliceAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_dyn_strided_slice,
    .eval = eval_dyn_strided_slice,
    .compute = compute_dyn_strided_slice,
    .shape = shape_of_dyn_strided_slice,
    .shape_need = {ShapeNeed::kShape, ShapeNeed::kData, ShapeNeed::kData, ShapeNeed::kData},
    .samples =
        {"dyn.strided_slice(float32[5,7], int64[2]=[1,2], int64[2]=[4,100], int64[2]=[1,2])",
         "dyn.strided_slice(int64[5,7], int64[1]=[-3], int64[1]=[-1], int64[1]=[1], axes=[1])",
         "dyn.strided_slice(float16[4,5], int64[2]=[1,1], int64[2]=[2,3], int64[2]=[1,1], "
         "slice_mode=\"size\")"},
};

}  // namespace tessera::ops
