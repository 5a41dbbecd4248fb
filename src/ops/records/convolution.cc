// SPDX-License-Identifier: Apache-2.0
#include "ops/records/convolution.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/records/elementwise.h"
#include "ops/records/product_types.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

// Everything that eval and compute need to know, once inference has accepted the call.
struct Geometry {
  Places data, weight, result;
  Window window;
};

template <class T>
Geometry geometry(const ConvAttrs& p, const std::vector<T>& weight_shape) {
  const std::size_t n = p.strides.size();
  Geometry g{known_places(p.data_layout, "NC", n),
             known_places(p.kernel_layout, "OI", n),
             known_places(result_layout(p), "NC", n),
             {}};
  Ints sizes;
  for (std::size_t s : g.weight.spatial) {
    if constexpr (std::is_same_v<T, Expr>) {
      sizes.push_back(*tir::as_int(weight_shape[s]));
    } else {
      sizes.push_back(weight_shape[s]);
    }
  }
  g.window = known_window(sizes, p.strides, p.dilation, p.padding);
  return g;
}

Result<Ints> kernel_sizes(const InferArgs& args, const ConvAttrs& p, const Places& places) {
  const Shape& weight = args.operands[1].shape();
  Ints sizes;
  for (std::size_t s = 0; s < places.spatial.size(); ++s) {
    const Dim& d = weight[places.spatial[s]];
    if (!d.is_constant()) {
      return refuse(args, Code::kNotSupported, "needs a weight of known size, found {}",
                    to_string(args.operands[1]));
    }
    if (p.kernel_size &&
        (p.kernel_size->size() != places.spatial.size() || (*p.kernel_size)[s] != d.constant())) {
      return refuse(args, Code::kShapeMismatch, "has kernel_size [{}] and a weight of shape {}",
                    fmt::join(*p.kernel_size, ", "), to_string(weight));
    }
    sizes.push_back(d.constant());
  }
  return sizes;
}

Result<void> check_channels(const InferArgs& args, const ConvAttrs& p, const Dim& in, const Dim& o,
                            const Dim& i) {
  if (p.groups < 1 || p.groups > INT32_MAX) {
    return refuse(args, Code::kWrongAttribute, "has {} groups", p.groups);
  }
  const Dim groups(p.groups);
  if (provably_equal(in, i * groups) == Tri::kNo) {
    return refuse(args, Code::kShapeMismatch,
                  "input channels differ: data has {}, weight takes {} in {} groups", to_string(in),
                  to_string(i), p.groups);
  }
  TESSERA_TRY_VOID(agreed(args, in, i * groups, "channels of data and what the weight takes"));
  if (p.channels) {
    if (provably_equal(o, Dim(*p.channels)) == Tri::kNo) {
      return refuse(args, Code::kShapeMismatch, "has channels={} and a weight that makes {}",
                    *p.channels, to_string(o));
    }
    TESSERA_TRY_VOID(agreed(args, Dim(*p.channels), o, "channels and what the weight makes"));
  }
  if (provably_equal(floor_mod(o, groups), Dim(0)) == Tri::kNo) {
    return refuse(args, Code::kShapeMismatch, "cannot make {} channels in {} groups", to_string(o),
                  p.groups);
  }
  return none_left(args, o, groups, "channels left over by the groups and none");
}

template <class T>
Elements<T> convolved(const EvalArgs& args, const ConvAttrs& p) {
  const Tensor &x = args.operands[0], &w = args.operands[1];
  const Geometry g = geometry(p, w.shape);
  const Elements<T> xs = values_of<T>(x), ws = values_of<T>(w);
  const Ints shape = static_shape(args.result);
  const Ints x_strides = row_major_strides(x.shape), w_strides = row_major_strides(w.shape);
  const std::int64_t inputs = w.shape[g.weight.second];
  const std::int64_t per_group = w.shape[g.weight.first] / p.groups;
  Ints kernel{inputs};
  for (const WindowAxis& a : g.window) kernel.push_back(a.size);
  Elements<T> out;
  for (Counter c(shape); c; ++c) {
    const std::int64_t o = c[g.result.second];
    T total = 0;
    for (Counter k(kernel); k; ++k) {
      const std::int64_t channel = per_group == 0 ? 0 : o / per_group * inputs + k[0];
      std::int64_t at =
          c[g.result.first] * x_strides[g.data.first] + channel * x_strides[g.data.second];
      std::int64_t weight = o * w_strides[g.weight.first] + k[0] * w_strides[g.weight.second];
      bool inside = true;
      for (std::size_t s = 0; s < g.window.size(); ++s) {
        const WindowAxis& a = g.window[s];
        const std::int64_t place =
            c[g.result.spatial[s]] * a.stride + k[s + 1] * a.dilation - a.pad_begin;
        inside = inside && place >= 0 && place < x.shape[g.data.spatial[s]];
        if (!inside) break;
        at += place * x_strides[g.data.spatial[s]];
        weight += k[s + 1] * w_strides[g.weight.spatial[s]];
      }
      if (inside) total = wrapping_add(total, wrapping_multiply(xs[at], ws[weight]));
    }
    out.push_back(total);
  }
  return out;
}

}  // namespace

Result<Type> infer_conv(const InferArgs& args, const ConvAttrs& p) {
  const std::size_t n = p.data_layout.size() - 2;
  TESSERA_TRY_VOID(expect_rank(args, 0, n + 2));
  TESSERA_TRY_VOID(expect_rank(args, 1, n + 2));
  TESSERA_TRY_VOID(expect_one_kind(args));
  TESSERA_TRY(const Places data, layout_places(args, p.data_layout, "NC", n));
  TESSERA_TRY(const Places weight, layout_places(args, p.kernel_layout, "OI", n));
  TESSERA_TRY(const Places result, layout_places(args, result_layout(p), "NC", n));
  const Shape &x = args.operands[0].shape(), &w = args.operands[1].shape();
  TESSERA_TRY_VOID(check_channels(args, p, x[data.second], w[weight.first], w[weight.second]));
  TESSERA_TRY(const Ints sizes, kernel_sizes(args, p, weight));
  TESSERA_TRY(const Window window, make_window(args, sizes, p.strides, p.dilation, p.padding));
  Shape spatial;
  for (std::size_t s = 0; s < n; ++s) {
    TESSERA_TRY(Dim d, window_places(args, window[s], x[data.spatial[s]], false));
    spatial.push_back(std::move(d));
  }
  return tensor_type(result.stored(x[data.first], w[weight.first], spatial),
                     p.out_dtype.value_or(args.operands[0].dtype()));
}

std::vector<Tensor> eval_conv(const EvalArgs& args, const ConvAttrs& p) {
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    return {tensor_of(args.result, convolved<T>(args, p))};
  });
}

TensorExpr zero_padded(const TensorExpr& x, const Places& places, const Window& window) {
  std::vector<Expr> shape = x.shape();
  bool any = false;
  for (std::size_t s = 0; s < window.size(); ++s) {
    Expr& d = shape[places.spatial[s]];
    d = d + (window[s].pad_begin + window[s].pad_end);
    any = any || window[s].pad_begin != 0 || window[s].pad_end != 0;
  }
  if (!any) return x;
  return tir::compute(
      "padded", shape,
      [&](const Indices& i) {
        Indices at = i;
        std::vector<Expr> inside;
        for (std::size_t s = 0; s < window.size(); ++s) {
          const std::size_t d = places.spatial[s];
          if (window[s].pad_begin != 0) {
            at[d] = i[d] - window[s].pad_begin;
            inside.push_back(tir::ge(i[d], window[s].pad_begin));
          }
          if (window[s].pad_end != 0) inside.push_back(tir::lt(at[d], x.shape()[d]));
        }
        return tir::select(all_of(std::move(inside)), x(at), zero(x.dtype()));
      },
      "pad");
}

Definitions compute_conv(const ComputeArgs& args, const ConvAttrs& p) {
  const TensorExpr& w = args.operands[1];
  const Geometry g = geometry(p, w.shape());
  const TensorExpr x = zero_padded(args.operands[0], g.data, g.window);
  const DType dtype = result_dtype(args), wide = accumulator(dtype);
  const Expr inputs = w.shape()[g.weight.second];
  const Expr per_group = tir::floor_div(w.shape()[g.weight.first], p.groups);
  const bool depthwise = p.groups > 1 && tir::is_int(inputs, 1);
  std::vector<IterAxis> axes;
  const IterAxis channel = tir::reduce_axis(inputs, "ci");
  if (!depthwise) axes.push_back(channel);
  const std::size_t n = g.window.size();
  for (std::size_t s = 0; s < n; ++s) {
    axes.push_back(tir::reduce_axis(g.window[s].size, fmt::format("k{}", "dhw"[3 - n + s])));
  }
  const auto product = [&](const Indices& i) {
    const Expr& o = i[g.result.second];
    const Expr group = tir::is_int(per_group, 1) ? o : tir::floor_div(o, per_group);
    const Expr i_channel = depthwise ? Expr(0) : channel.var;
    Expr in = p.groups == 1 ? i_channel : depthwise ? group : group * inputs + i_channel;
    std::vector<Expr> at, kernel;
    for (std::size_t s = 0; s < n; ++s) {
      const Expr k = axes[axes.size() - n + s].var;
      const Expr begin = g.window[s].stride == 1 ? i[g.result.spatial[s]]
                                                 : i[g.result.spatial[s]] * g.window[s].stride;
      at.push_back(begin + (g.window[s].dilation == 1 ? k : k * g.window[s].dilation));
      kernel.push_back(k);
    }
    return tir::cast(x(g.data.stored(i[g.result.first], in, at)), wide) *
           tir::cast(w(g.weight.stored(o, i_channel, kernel)), wide);
  };
  const TensorExpr y = tir::compute(
      "conv", result_shape(args), [&](const Indices& i) { return tir::sum(axes, product(i)); },
      fmt::format("{}conv{}d", depthwise ? "depthwise_" : "", n));
  return {converted(y, dtype)};
}

double conv_flops(const CostArgs& args, const ConvAttrs& p) {
  const Places weight = known_places(p.kernel_layout, "OI", p.strides.size());
  const Type& w = args.operands[1];
  const double outputs = static_cast<double>(w.shape()[weight.first].as_constant().value_or(1));
  return 2 * element_count(args.result) * element_count(w) / std::max(outputs, 1.0);
}

}  // namespace tessera::ops
