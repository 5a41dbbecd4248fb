// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/records/convolution.h"
#include "ops/records/elementwise.h"
#include "ops/records/product_types.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

struct Geometry {
  Places data, weight, result;  // of the weight: first is the data's channels, second the result's
  Window window;
};

Geometry geometry(const ConvAttrs& p, const Ints& kernel) {
  const std::size_t n = p.strides.size();
  return {known_places(p.data_layout, "NC", n),
          known_places(transposed_kernel_layout(p.kernel_layout), "OI", n),
          known_places(result_layout(p), "NC", n),
          known_window(kernel, p.strides, p.dilation, p.padding)};
}

Ints kernel_of(const ConvAttrs& p, const Shape& weight) {
  Ints sizes;
  for (std::size_t s :
       known_places(transposed_kernel_layout(p.kernel_layout), "OI", p.strides.size()).spatial) {
    sizes.push_back(weight[s].as_constant().value_or(1));
  }
  return sizes;
}

// Every element of the data spreads the kernel over the result.
template <class T>
Elements<T> spread(const EvalArgs& args, const ConvAttrs& p) {
  const Tensor &x = args.operands[0], &w = args.operands[1];
  const Geometry g = geometry(p, kernel_of(p, w.type().shape()));
  const Elements<T> xs = values_of<T>(x), ws = values_of<T>(w);
  const Ints shape = static_shape(args.result);
  const Ints y_strides = row_major_strides(shape), w_strides = row_major_strides(w.shape);
  const std::int64_t outputs = w.shape[g.weight.second];
  const std::int64_t per_group = x.shape[g.data.second] / p.groups;
  Elements<T> out(count_of(shape));
  Ints kernel{outputs};
  for (const WindowAxis& a : g.window) kernel.push_back(a.size);
  std::size_t next = 0;
  for (Counter c(x.shape); c; ++c, ++next) {
    const std::int64_t in = c[g.data.second];
    for (Counter k(kernel); k; ++k) {
      const std::int64_t o = in / per_group * outputs + k[0];
      std::int64_t from = in * w_strides[g.weight.first] + k[0] * w_strides[g.weight.second];
      std::int64_t at =
          c[g.data.first] * y_strides[g.result.first] + o * y_strides[g.result.second];
      bool inside = true;
      for (std::size_t s = 0; s < g.window.size(); ++s) {
        const WindowAxis& a = g.window[s];
        const std::int64_t place =
            c[g.data.spatial[s]] * a.stride + k[s + 1] * a.dilation - a.pad_begin;
        inside = inside && place >= 0 && place < shape[g.result.spatial[s]];
        if (!inside) break;
        at += place * y_strides[g.result.spatial[s]];
        from += k[s + 1] * w_strides[g.weight.spatial[s]];
      }
      if (inside) out[at] = wrapping_add(out[at], wrapping_multiply(xs[next], ws[from]));
    }
  }
  return out;
}

}  // namespace

std::string transposed_kernel_layout(std::string layout) {
  const auto in = layout.find('I'), out = layout.find('O');
  if (in != layout.npos && out != layout.npos && in < out) std::swap(layout[in], layout[out]);
  return layout;
}

Result<Type> infer_conv_transpose(const InferArgs& args, const ConvAttrs& p) {
  const std::size_t n = p.data_layout.size() - 2;
  TESSERA_TRY_VOID(expect_rank(args, 0, n + 2));
  TESSERA_TRY_VOID(expect_rank(args, 1, n + 2));
  TESSERA_TRY_VOID(expect_one_kind(args));
  TESSERA_TRY(const Places data, layout_places(args, p.data_layout, "NC", n));
  TESSERA_TRY(const Places weight,
              layout_places(args, transposed_kernel_layout(p.kernel_layout), "OI", n));
  TESSERA_TRY(const Places result, layout_places(args, result_layout(p), "NC", n));
  const Shape &x = args.operands[0].shape(), &w = args.operands[1].shape();
  TESSERA_TRY_VOID(agreed(args, x[data.second], w[weight.first], "channels of data and weight"));
  if (p.groups < 1 ||
      provably_equal(floor_mod(x[data.second], Dim(p.groups)), Dim(0)) == Tri::kNo) {
    return refuse(args, Code::kShapeMismatch, "cannot take {} channels in {} groups",
                  to_string(x[data.second]), p.groups);
  }
  TESSERA_TRY_VOID(expect_window_lists(args, n, p.strides, p.dilation, p.padding));
  if (p.output_padding.size() != n) {
    return refuse(args, Code::kWrongAttribute, "needs output_padding of {} numbers", n);
  }
  for (const std::int64_t pad : p.output_padding) {
    if (pad >= 0 && pad <= INT32_MAX) continue;
    return refuse(args, Code::kWrongAttribute, "has {} as output_padding", pad);
  }
  TESSERA_TRY_VOID(
      none_left(args, x[data.second], Dim(p.groups), "channels left over by the groups and none"));
  for (const std::size_t s : weight.spatial) {
    if (w[s].is_constant()) continue;
    return refuse(args, Code::kNotSupported, "needs a weight of known size, found {}",
                  to_string(args.operands[1]));
  }
  const Dim channels = w[weight.second] * Dim(p.groups);
  if (p.channels) {
    TESSERA_TRY_VOID(
        agreed(args, Dim(*p.channels), channels, "channels and what the weight makes"));
  }
  TESSERA_TRY(const Window window,
              make_window(args, kernel_of(p, w), p.strides, p.dilation, p.padding));
  Shape spatial;
  for (std::size_t s = 0; s < n; ++s) {
    const WindowAxis& a = window[s];
    const Dim last = (x[data.spatial[s]] - Dim(1)) * Dim(a.stride);
    const Dim size = last + Dim(a.reach() - a.pad_begin - a.pad_end + p.output_padding[s]);
    TESSERA_TRY_VOID(at_least(args, size, Dim(0), "places of the kernel and none"));
    spatial.push_back(size);
  }
  return tensor_type(result.stored(x[data.first], channels, spatial),
                     p.out_dtype.value_or(args.operands[0].dtype()));
}

std::vector<Tensor> eval_conv_transpose(const EvalArgs& args, const ConvAttrs& p) {
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    return {tensor_of(args.result, spread<T>(args, p))};
  });
}

// Every element of the result gathers what reaches it.
Definitions compute_conv_transpose(const ComputeArgs& args, const ConvAttrs& p) {
  const TensorExpr &x = args.operands[0], &w = args.operands[1];
  const Geometry g = geometry(p, kernel_of(p, args.operand_types[1].shape()));
  const DType dtype = result_dtype(args), wide = accumulator(dtype);
  const std::size_t n = g.window.size();
  const Expr outputs = w.shape()[g.weight.second];
  const Expr per_group = tir::floor_div(x.shape()[g.data.second], p.groups);
  std::vector<IterAxis> axes{tir::reduce_axis(per_group, "ci")};
  for (std::size_t s = 0; s < n; ++s) {
    axes.push_back(tir::reduce_axis(g.window[s].size, fmt::format("k{}", "dhw"[3 - n + s])));
  }
  const auto product = [&](const Indices& i) {
    const Expr& o = i[g.result.second];
    const bool one_group = p.groups == 1;
    const Expr in = one_group ? axes[0].var : tir::floor_div(o, outputs) * per_group + axes[0].var;
    std::vector<Expr> at, kernel, reached;
    for (std::size_t s = 0; s < n; ++s) {
      const WindowAxis& a = g.window[s];
      const Expr k = axes[s + 1].var;
      const Expr place =
          i[g.result.spatial[s]] + a.pad_begin - (a.dilation == 1 ? k : k * a.dilation);
      const Expr source = a.stride == 1 ? place : tir::floor_div(place, a.stride);
      if (a.stride != 1) reached.push_back(tir::eq(tir::floor_mod(place, a.stride), 0));
      reached.push_back(tir::ge(place, 0));
      reached.push_back(tir::lt(source, x.shape()[g.data.spatial[s]]));
      at.push_back(source);
      kernel.push_back(k);
    }
    const Expr weight = w(g.weight.stored(in, one_group ? o : tir::floor_mod(o, outputs), kernel));
    const Expr value = tir::cast(x(g.data.stored(i[g.result.first], in, at)), wide);
    return tir::select(all_of(std::move(reached)), value * tir::cast(weight, wide), zero(wide));
  };
  const TensorExpr y = tir::compute(
      "conv", result_shape(args), [&](const Indices& i) { return tir::sum(axes, product(i)); },
      fmt::format("conv{}d_transpose", n));
  return {converted(y, dtype)};
}

double conv_transpose_flops(const CostArgs& args, const ConvAttrs& p) {
  const Places weight =
      known_places(transposed_kernel_layout(p.kernel_layout), "OI", p.strides.size());
  const Type& w = args.operands[1];
  const auto inputs = static_cast<double>(w.shape()[weight.first].as_constant().value_or(1));
  return 2 * element_count(args.operands[0]) * element_count(w) / (inputs > 0 ? inputs : 1);
}

}  // namespace tessera::ops
