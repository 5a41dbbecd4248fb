// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/attrs/image.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"
#include "ops/records/resize_taps.h"

namespace tessera::ops {
namespace {

Result<Type> infer_resize(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<ResizeAttrs>(args.attrs);
  const std::size_t rank = data.rank();
  TESSERA_TRY_VOID(expect_float_or_nearest(args, p));
  if (p.size.size() != rank || (!p.scales.empty() && p.scales.size() != rank) ||
      (!p.roi.empty() && p.roi.size() != 2 * rank)) {
    return refuse(args, Code::kWrongAttribute, "needs {} sizes, {} scales and {} numbers of a roi",
                  rank, rank, 2 * rank);
  }
  for (const Dim& d : data.shape()) {
    if (!d.is_constant()) return refuse(args, Code::kNotSupported, "of a tensor of unknown size");
    if (d.constant() == 0) return refuse(args, Code::kShapeMismatch, "of an empty tensor");
  }
  for (const std::int64_t size : p.size) {
    if (size <= kLongestTable) continue;
    return refuse(args, Code::kNotSupported, "resizes a dimension to {}; up to {} is supported",
                  size, kLongestTable);
  }
  return tensor_type(Shape(p.size.begin(), p.size.end()), data.dtype());
}

std::vector<Tensor> eval_resize(const EvalArgs& args) {
  const auto p = relay::read_attrs<ResizeAttrs>(args.attrs);
  const Tensor& data = args.operands[0];
  const std::vector<AxisTaps> taps = resize_taps(p, data.shape);
  const Ints strides = row_major_strides(data.shape);
  Ints counts;
  for (const AxisTaps& t : taps) counts.push_back(t.count);
  const Elements<double> x = values_of<double>(data);
  std::vector<double> out;
  for (Counter c(p.size); c; ++c) {
    double total = 0;
    bool inside = true;
    for (std::size_t d = 0; d < taps.size(); ++d) inside = inside && !taps[d].is_outside(c[d]);
    for (Counter k(counts); inside && k; ++k) {
      double weight = 1;
      std::int64_t at = 0;
      for (std::size_t d = 0; d < taps.size(); ++d) {
        weight *= taps[d].weight(c[d], k[d]);
        at += taps[d].place(c[d], k[d]) * strides[d];
      }
      total += weight * x[at];
    }
    out.push_back(inside ? total : p.extrapolation_value);
  }
  if (data.dtype.is_float()) return {tensor_of(args.result, out)};
  return {tensor_of(args.result, Ints(out.begin(), out.end()))};
}

// One dimension after the other: each stage sums a few taps whose places and weights are tables.
Definitions compute_resize(const ComputeArgs& args) {
  const auto p = relay::read_attrs<ResizeAttrs>(args.attrs);
  TensorExpr x = args.operands[0];
  const DType dtype = x.dtype(), wide = accumulator(dtype);
  const std::vector<AxisTaps> taps = resize_taps(p, *constant_shape(args.operand_types[0].shape()));
  for (std::size_t d = 0; d < taps.size(); ++d) {
    const AxisTaps& t = taps[d];
    if (t.is_identity()) continue;
    const TensorExpr places = t.place_table();
    std::vector<Expr> shape = x.shape();
    shape[d] = t.size;
    const TensorExpr from = x;
    x = tir::compute(
        "resized", shape,
        [&](const Indices& i) {
          const auto read = [&](const Expr& k) {
            Indices at = i;
            at[d] = places({i[d], k});
            return from(at);
          };
          if (t.count == 1) return read(0);
          const TensorExpr weights = t.weight_table(wide);
          const IterAxis k = tir::reduce_axis(t.count, "k");
          return tir::sum({k}, weights({i[d], k.var}) * tir::cast(read(k.var), wide));
        },
        t.count == 1 ? "" : "resize");
  }
  const bool crops = p.coordinate_transformation_mode == "tf_crop_and_resize";
  return define(args, "y", [&](const Indices& i) {
    Expr value = tir::cast(x(i), dtype);
    for (std::size_t d = 0; crops && d < taps.size(); ++d) {
      if (!taps[d].has_outside()) continue;
      const Expr is_outside = tir::ne(taps[d].outside_table()({i[d]}), 0);
      value = tir::select(is_outside, tir::imm(p.extrapolation_value, dtype), value);
    }
    return value;
  });
}

}  // namespace

constexpr Operator kResize{
    .name = "image.resize",
    .doc =
        "Resampling of every dimension to `size`, as ONNX Resize defines it: nearest, linear or "
        "cubic, with "
        "its coordinate transformations   data: T[d...] -> T[size]",
    .operands = {"data"},
    .attrs = relay::attr_schema<ResizeAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_resize,
    .eval = eval_resize,
    .compute = compute_resize,
    .flops =
        [](const CostArgs& args) {
          const auto p = relay::read_attrs<ResizeAttrs>(args.attrs);
          const double taps = p.method == "nearest" ? 1 : p.method == "linear" ? 2 : 4;
          return element_count(args.result) *
                 std::pow(taps, static_cast<double>(args.result.rank()));
        },
    .samples =
        {"image.resize(float32[1,2,3,4], size=[1,2,6,8])",
         "image.resize(float32[1,1,4,5], size=[1,1,2,3], method=\"cubic\")",
         "image.resize(int32[3,4], size=[5,7], method=\"nearest\", "
         "coordinate_transformation_mode=\"asymmetric\", rounding_method=\"floor\")",
         "image.resize(float16[2,5], size=[2,3], coordinate_transformation_mode=\"align_corners\")",
         "image.resize(float32[1,4,4], size=[1,3,3], method=\"cubic\", cubic_exclude=True, "
         "cubic_alpha=-0.5, scales=[1.0,0.8,0.8])",
         "image.resize(float32[4,4], size=[3,5], roi=[0.4,0.6,0.6,1.2], "
         "coordinate_transformation_mode=\"tf_crop_and_resize\", extrapolation_value=10.0)",
         "image.resize(float32[4,6], size=[2,2], "
         "coordinate_transformation_mode=\"pytorch_half_pixel\")"},
};

}  // namespace tessera::ops
