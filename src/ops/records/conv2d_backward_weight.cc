// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/records/convolution.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

struct Geometry {
  Places grad, data, weight;
  Window window;
};

Geometry geometry(const ConvAttrs& p) {
  const GradientLayouts l = gradient_layouts(p);
  return {known_places(l.grad, "NC", 2), known_places(l.data, "NC", 2),
          known_places(l.weight, "OI", 2),
          known_window(*p.kernel_size, p.strides, p.dilation, p.padding)};
}

Result<Type> infer_conv2d_backward_weight(const InferArgs& args) {
  const auto p = relay::read_attrs<Conv2DAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_rank(args, 0, 4));
  TESSERA_TRY_VOID(expect_rank(args, 1, 4));
  const GradientLayouts l = gradient_layouts(p);
  TESSERA_TRY(const Places grad, layout_places(args, l.grad, "NC", 2));
  TESSERA_TRY(const Places data, layout_places(args, l.data, "NC", 2));
  TESSERA_TRY(const Places weight, layout_places(args, l.weight, "OI", 2));
  const Shape &g = args.operands[0].shape(), &x = args.operands[1].shape();
  if (!p.kernel_size || p.kernel_size->size() != 2 || p.groups < 1) {
    return refuse(args, Code::kWrongAttribute,
                  "needs kernel_size of 2 numbers and at least one group");
  }
  TESSERA_TRY(const Window window,
              make_window(args, *p.kernel_size, p.strides, p.dilation, p.padding));
  for (std::size_t s = 0; s < 2; ++s) {
    TESSERA_TRY(const Dim places, window_places(args, window[s], x[data.spatial[s]], false));
    TESSERA_TRY_VOID(agreed(args, g[grad.spatial[s]], places, "sizes of gradient and convolution"));
  }
  TESSERA_TRY_VOID(agreed(args, g[grad.first], x[data.first], "batch sizes of gradient and data"));
  for (const Dim& channels : {g[grad.second], x[data.second]}) {
    TESSERA_TRY_VOID(
        none_left(args, channels, Dim(p.groups), "channels left over by the groups and none"));
  }
  const Shape kernel(p.kernel_size->begin(), p.kernel_size->end());
  return tensor_type(
      weight.stored(g[grad.second], floor_div(x[data.second], Dim(p.groups)), kernel),
      p.out_dtype.value_or(args.operands[0].dtype()));
}

std::vector<Tensor> eval_conv2d_backward_weight(const EvalArgs& args) {
  const auto p = relay::read_attrs<Conv2DAttrs>(args.attrs);
  const Geometry g = geometry(p);
  const Tensor &grad = args.operands[0], &data = args.operands[1];
  const Elements<double> gs = values_of<double>(grad), xs = values_of<double>(data);
  const Ints shape = static_shape(args.result), strides = row_major_strides(shape);
  const Ints x_strides = row_major_strides(data.shape);
  const std::int64_t inputs = shape[g.weight.second];
  const std::int64_t per_group = std::max<std::int64_t>(shape[g.weight.first] / p.groups, 1);
  Elements<double> out(count_of(shape));
  std::size_t next = 0;
  for (Counter c(grad.shape); c; ++c, ++next) {
    const std::int64_t o = c[g.grad.second];
    for (Counter k({inputs, g.window[0].size, g.window[1].size}); k; ++k) {
      std::int64_t from = c[g.grad.first] * x_strides[g.data.first] +
                          (o / per_group * inputs + k[0]) * x_strides[g.data.second];
      std::int64_t to = o * strides[g.weight.first] + k[0] * strides[g.weight.second];
      bool inside = true;
      for (std::size_t s = 0; s < 2; ++s) {
        const WindowAxis& a = g.window[s];
        const std::int64_t place =
            c[g.grad.spatial[s]] * a.stride + k[s + 1] * a.dilation - a.pad_begin;
        inside = inside && place >= 0 && place < data.shape[g.data.spatial[s]];
        if (!inside) break;
        from += place * x_strides[g.data.spatial[s]];
        to += k[s + 1] * strides[g.weight.spatial[s]];
      }
      if (inside) out[to] += gs[next] * xs[from];
    }
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_conv2d_backward_weight(const ComputeArgs& args) {
  const auto p = relay::read_attrs<Conv2DAttrs>(args.attrs);
  const Geometry g = geometry(p);
  const TensorExpr& grad = args.operands[0];
  const TensorExpr x = zero_padded(args.operands[1], g.data, g.window);
  const DType dtype = result_dtype(args), wide = accumulator(dtype);
  const std::vector<Expr> shape = result_shape(args);
  const Expr per_group = tir::floor_div(shape[g.weight.first], p.groups);
  const std::vector<IterAxis> over{tir::reduce_axis(grad.shape()[g.grad.first], "n"),
                                   tir::reduce_axis(grad.shape()[g.grad.spatial[0]], "h"),
                                   tir::reduce_axis(grad.shape()[g.grad.spatial[1]], "w")};
  const TensorExpr y = tir::compute(
      "weight_gradient", shape,
      [&](const Indices& i) {
        const Expr& o = i[g.weight.first];
        const Expr group = p.groups == 1 ? Expr(0) : tir::floor_div(o, per_group);
        std::vector<Expr> places;
        for (std::size_t s = 0; s < 2; ++s) {
          const WindowAxis& a = g.window[s];
          places.push_back(over[s + 1].var * a.stride + i[g.weight.spatial[s]] * a.dilation);
        }
        const Expr in = group * shape[g.weight.second] + i[g.weight.second];
        return tir::sum(
            over, tir::cast(grad(g.grad.stored(over[0].var, o, {over[1].var, over[2].var})), wide) *
                      tir::cast(x(g.data.stored(over[0].var, in, places)), wide));
      },
      "conv2d_backward_weight");
  return {converted(y, dtype)};
}

}  // namespace

GradientLayouts gradient_layouts(const ConvAttrs& p) {
  if (p.kernel_layout.find('N') == std::string::npos) {
    return {result_layout(p), p.data_layout, p.kernel_layout};
  }
  GradientLayouts out{p.data_layout, p.kernel_layout, p.out_layout};
  if (out.weight.empty()) {
    out.weight = out.data;
    for (char& c : out.weight) c = c == 'N' ? 'O' : c == 'C' ? 'I' : c;
  }
  return out;
}

constexpr Operator kConv2DBackwardWeight{
    .name = "nn.conv2d_backward_weight",
    .doc =
        "w[o, i, k] = sum over n, p of grad[n, o, p] * data[n, group(o) * I + i, p * stride + k * "
        "dilation - pad]"
        "   grad: T[n, o, h, w], data: T[n, c, h', w'] -> out_dtype[o, c / groups, kernel_size]",
    .operands = {"grad", "data"},
    .attrs = relay::attr_schema<Conv2DAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_conv2d_backward_weight,
    .eval = eval_conv2d_backward_weight,
    .compute = compute_conv2d_backward_weight,
    .flops =
        [](const CostArgs& args) {
          const Type& w = args.result;
          const double outputs = static_cast<double>(w.shape()[0].as_constant().value_or(1));
          return 2 * element_count(args.operands[0]) * element_count(w) / std::max(outputs, 1.0);
        },
    .samples = {"nn.conv2d_backward_weight(float32[2,3,5,4], float32[2,2,7,6], kernel_size=[3,3])",
                "nn.conv2d_backward_weight(float32[1,4,3,3], float32[1,4,5,5], kernel_size=[3,3], "
                "padding=[1,1], "
                "strides=[2,2], groups=2)",
                "nn.conv2d_backward_weight(float16[1,4,2,2], float16[1,4,3,3], kernel_size=[1,2], "
                "data_layout=\"NHWC\", kernel_layout=\"OHWI\")",
                "nn.conv2d_backward_weight(float32[2,3,3,5], float32[2,5,4,3], kernel_size=[3,2], "
                "data_layout=\"NHWC\", kernel_layout=\"NHWC\", out_layout=\"OHWI\")"},
};

}  // namespace tessera::ops
