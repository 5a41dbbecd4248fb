// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/elementwise.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

struct AxisSlice {
  std::int64_t begin = 0, end = INT64_MAX, stride = 1;
  bool size_mode = false;  // `end` is a size
};

// The slice of each dimension; those that are not named are whole.
std::vector<AxisSlice> slices_of(const StridedSliceAttrs& p, std::size_t rank) {
  std::vector<AxisSlice> slices(rank);
  for (std::size_t k = 0; k < p.begin->size(); ++k) {
    AxisSlice& s = slices[p.axes ? front_axis((*p.axes)[k], rank) : k];
    s.size_mode = p.slice_mode == "size";
    s.begin = (*p.begin)[k];
    if (p.end && k < p.end->size()) s.end = (*p.end)[k];
    if (p.strides && !p.strides->empty() && !s.size_mode) {
      s.stride = (*p.strides)[p.strides->size() == 1 ? 0 : k];
    }
  }
  return slices;
}

// Sizes in one algebra and indices in the other: D is Dim, or Expr when the loops are made.
template <class D>
D first_index(const AxisSlice& s, const D& size) {
  const D lowest = s.stride > 0 ? D(0) : D(-1);
  const D highest = s.stride > 0 ? size : size - D(1);
  const D begin = s.begin < 0 ? size + D(s.begin) : D(s.begin);
  if (s.begin == 0 && s.stride > 0) return D(0);
  if (s.begin < 0) return max(begin, s.stride > 0 ? D(0) : lowest);
  return min(begin, highest);
}

Dim sliced_size_of_strided_slice(const AxisSlice& s, const Dim& size) {
  const Dim begin = first_index(s, size);
  if (s.size_mode) return s.end < 0 ? size - begin : min(Dim(s.end), size - begin);
  Dim end = s.end < 0 ? max(size + Dim(s.end), Dim(s.stride > 0 ? 0 : -1)) : min(Dim(s.end), size);
  if (s.stride > 0 && s.end >= kFarAway) end = size;
  if (s.stride < 0 && s.end <= -kFarAway) end = Dim(-1);
  const Dim span = s.stride > 0 ? end - begin : begin - end;
  if (s.stride > 0 && s.end >= kFarAway && s.begin == 0) return ceil_div(span, Dim(s.stride));
  return ceil_div(max(span, Dim(0)), Dim(s.stride > 0 ? s.stride : -s.stride));
}

Result<Type> infer_strided_slice(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<StridedSliceAttrs>(args.attrs);
  if (!p.begin) return refuse(args, Code::kWrongAttribute, "needs begin");
  const std::size_t count = p.begin->size();
  if (p.slice_mode != "end" && p.slice_mode != "size") {
    return refuse(args, Code::kWrongAttribute, "has slice_mode \"{}\"; it is \"end\" or \"size\"",
                  p.slice_mode);
  }
  if ((p.axes && p.axes->size() != count) || count > data.rank() ||
      (p.strides && p.strides->size() > 1 && p.strides->size() != count)) {
    return refuse(args, Code::kWrongAttribute,
                  "has begin, strides and axes of different lengths for a tensor of rank {}",
                  data.rank());
  }
  TESSERA_TRY_VOID(chosen_axes(args, p.axes, false, data.rank()));
  Shape shape = data.shape();
  const std::vector<AxisSlice> slices = slices_of(p, data.rank());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (slices[i].stride == 0) return refuse(args, Code::kWrongAttribute, "has a stride of 0");
    if (slices[i].stride == INT64_MIN) {
      return refuse(args, Code::kWrongAttribute, "has the stride {}", slices[i].stride);
    }
    shape[i] = sliced_size_of_strided_slice(slices[i], shape[i]);
  }
  return tensor_type(std::move(shape), data.dtype());
}

std::vector<Tensor> eval_strided_slice(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const auto slices =
      slices_of(relay::read_attrs<StridedSliceAttrs>(args.attrs), data.shape.size());
  Ints strides = row_major_strides(data.shape);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    offset += first_index(slices[i], Dim(data.shape[i])).constant() * strides[i];
    strides[i] = wrapping_multiply(strides[i], slices[i].stride);
  }
  return {strided_copy(data, static_shape(args.result), strides, offset)};
}

Definitions compute_strided_slice(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const auto slices = slices_of(relay::read_attrs<StridedSliceAttrs>(args.attrs), data.rank());
  return define(args, "y", [&](const Indices& i) {
    Indices at;
    for (std::size_t d = 0; d < i.size(); ++d) {
      const Expr begin = first_index(slices[d], data.shape()[d]);
      const Expr step = slices[d].stride == 1 ? i[d] : i[d] * slices[d].stride;
      at.push_back(tir::is_int(begin, 0) ? step : step + begin);
    }
    return data(at);
  });
}

}  // namespace

constexpr Operator kStridedSlice{
    .name = "strided_slice",
    .doc =
        "y[i...] = data[begin + i * stride ...] on the dimensions `axes`, Python's rules for "
        "negative and "
        "too large places   data: T[d...] -> T[ceil((end - begin) / stride)...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<StridedSliceAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_strided_slice,
    .eval = eval_strided_slice,
    .compute = compute_strided_slice,
    .samples =
        {"strided_slice(float32[5,7], begin=[1,2], end=[4,100], strides=[1,2], axes=None)",
         "strided_slice(int64[5,7], begin=[-3], end=[-1], strides=[1], axes=[1])",
         "strided_slice(float16[6], begin=[-1], end=[-9223372036854775807], strides=[-2], "
         "axes=[0])",
         "strided_slice(float32[4,3], begin=[3], end=[1], strides=[1], axes=[0])",
         "strided_slice(bool[6], begin=[4], end=[0], strides=[-1], axes=[0])",
         "strided_slice(float32[4,5], begin=[1,1], end=[2,-1], strides=[1], slice_mode=\"size\", "
         "axes=None)",
         "strided_slice(float32[3,4], begin=[2,1], end=[2,9], strides=[1], slice_mode=\"size\", "
         "axes=None)",
         "strided_slice(float32[0,2], begin=[0], end=[9], strides=None, axes=None)"},
};

}  // namespace tessera::ops
