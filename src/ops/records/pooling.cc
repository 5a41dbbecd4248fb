// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ops/records/elementwise.h"

namespace tessera::ops {
namespace {

struct Geometry {
  Places data, result;
  Window window;
};

Geometry geometry(const PoolAttrs& p) {
  const std::size_t n = p.pool_size.size();
  return {known_places(p.layout, "NC", n),
          known_places(p.out_layout.empty() ? p.layout : p.out_layout, "NC", n),
          known_window(p.pool_size, p.strides, p.dilation, p.padding)};
}

// What a window sees: the greatest and the sum of the elements inside, and how many places count.
template <class T>
struct Seen {
  T greatest = 0, sum = 0;
  std::int64_t inside = 0, padded = 0;
};

// `least`: what is greatest where none is.
template <class T>
Seen<T> look(const Tensor& x, const Elements<T>& values, T least, const Geometry& g,
             const Counter& out) {
  Seen<T> seen;
  seen.greatest = least;
  const Ints strides = row_major_strides(x.shape);
  Ints sizes;
  for (const WindowAxis& a : g.window) sizes.push_back(a.size);
  for (Counter k(sizes); k; ++k) {
    std::int64_t at =
        out[g.result.first] * strides[g.data.first] + out[g.result.second] * strides[g.data.second];
    bool inside = true, padded = true;
    for (std::size_t s = 0; s < g.window.size(); ++s) {
      const WindowAxis& a = g.window[s];
      const std::int64_t place =
          out[g.result.spatial[s]] * a.stride + k[s] * a.dilation - a.pad_begin;
      const std::int64_t size = x.shape[g.data.spatial[s]];
      inside = inside && place >= 0 && place < size;
      padded = padded && place < size + a.pad_end;
      if (inside) at += place * strides[g.data.spatial[s]];
    }
    if (padded) ++seen.padded;
    if (!inside) continue;
    ++seen.inside;
    seen.sum = wrapping_add(seen.sum, values[at]);
    seen.greatest = max_or_nan(seen.greatest, values[at]);
  }
  return seen;
}

// Does a window ever see more than the operand?
bool sees_padding(const Geometry& g, bool ceil_mode) {
  return ceil_mode || std::any_of(g.window.begin(), g.window.end(), [](const WindowAxis& a) {
           return a.pad_begin != 0 || a.pad_end != 0;
         });
}

// The operand with `filling` around it, as far as the windows of the result see.
TensorExpr padded_operand(const TensorExpr& x, const Geometry& g, bool ceil_mode,
                          const std::vector<Expr>& result, const Expr& filling) {
  if (!sees_padding(g, ceil_mode)) return x;
  std::vector<Expr> shape = x.shape();
  for (std::size_t s = 0; s < g.window.size(); ++s) {
    const WindowAxis& a = g.window[s];
    shape[g.data.spatial[s]] =
        (result[g.result.spatial[s]] - 1) * a.stride + (a.dilation * (a.size - 1) + 1);
  }
  const auto element = [&](const Indices& i) {
    Indices at = i;
    std::vector<Expr> inside;
    for (std::size_t s = 0; s < g.window.size(); ++s) {
      const std::size_t d = g.data.spatial[s];
      const WindowAxis& a = g.window[s];
      if (a.pad_begin != 0) {
        at[d] = i[d] - a.pad_begin;
        inside.push_back(tir::ge(i[d], a.pad_begin));
      }
      if (a.pad_end != 0 || ceil_mode) inside.push_back(tir::lt(at[d], x.shape()[d]));
    }
    return tir::select(all_of(std::move(inside)), x(at), filling);
  };
  return tir::compute("padded", shape, element, "pad");
}

// The padded operand's index under window element k for result index i.
Indices under_window(const Geometry& g, const Indices& i, const std::vector<IterAxis>& k) {
  std::vector<Expr> place;
  for (std::size_t s = 0; s < g.window.size(); ++s) {
    const WindowAxis& a = g.window[s];
    const Expr at = a.stride == 1 ? i[g.result.spatial[s]] : i[g.result.spatial[s]] * a.stride;
    place.push_back(at + (a.dilation == 1 ? k[s].var : k[s].var * a.dilation));
  }
  return g.data.stored(i[g.result.first], i[g.result.second], place);
}

// How many of the window's places along one axis lie in [low, high).
Expr places_between(const WindowAxis& a, const Expr& first, const Expr& low, const Expr& high) {
  const auto steps = [&](const Expr& to) {  // the least k with first + k * dilation >= to
    return tir::floor_div(to - first + (a.dilation - 1), a.dilation);
  };
  return tir::min(steps(high), a.size) - tir::max(steps(low), 0);
}

Expr counted(const TensorExpr& x, const Geometry& g, const PoolAttrs& p, const Indices& i) {
  Expr count = 1;
  for (std::size_t s = 0; s < g.window.size(); ++s) {
    const WindowAxis& a = g.window[s];
    const bool pads = a.pad_begin != 0 || a.pad_end != 0;
    if (!p.ceil_mode && (!pads || p.count_include_pad)) {
      count = count * a.size;
      continue;
    }
    const Expr size = x.shape()[g.data.spatial[s]];
    const Expr first = i[g.result.spatial[s]] * a.stride - a.pad_begin;
    count = count * (p.count_include_pad ? places_between(a, first, -a.pad_begin, size + a.pad_end)
                                         : places_between(a, first, 0, size));
  }
  return tir::max(count, 1);
}

}  // namespace

Result<Type> infer_pool(const InferArgs& args, const PoolAttrs& p) {
  const Type& x = args.operands[0];
  const std::size_t n = p.layout.size() - 2;
  TESSERA_TRY_VOID(expect_rank(args, 0, n + 2));
  if (p.pool_size.size() != n) {
    return refuse(args, Code::kWrongAttribute, "needs pool_size of {} numbers", n);
  }
  TESSERA_TRY(const Places data, layout_places(args, p.layout, "NC", n));
  TESSERA_TRY(const Places result,
              layout_places(args, p.out_layout.empty() ? p.layout : p.out_layout, "NC", n));
  TESSERA_TRY(const Window window,
              make_window(args, p.pool_size, p.strides, p.dilation, p.padding));
  Shape spatial;
  for (std::size_t s = 0; s < n; ++s) {
    TESSERA_TRY(Dim d, window_places(args, window[s], x.shape()[data.spatial[s]], p.ceil_mode));
    spatial.push_back(std::move(d));
  }
  return tensor_type(result.stored(x.shape()[data.first], x.shape()[data.second], spatial),
                     x.dtype());
}

std::vector<Tensor> eval_pool(const EvalArgs& args, const PoolAttrs& p, PoolKind kind) {
  const Geometry g = geometry(p);
  const Tensor& x = args.operands[0];
  return in_domain(x.dtype, [&]<class T>(T) -> std::vector<Tensor> {
    const Elements<T> values = values_of<T>(x);
    const T least = least_of<T>(x.dtype);
    std::vector<T> out;
    for (Counter c(static_shape(args.result)); c; ++c) {
      const Seen<T> seen = look(x, values, least, g, c);
      const std::int64_t count = p.count_include_pad ? seen.padded : seen.inside;
      out.push_back(kind == PoolKind::kMax
                        ? seen.greatest
                        : seen.sum / static_cast<T>(std::max<std::int64_t>(count, 1)));
    }
    return {tensor_of(args.result, out)};
  });
}

Definitions compute_pool(const ComputeArgs& args, const PoolAttrs& p, PoolKind kind) {
  const Geometry g = geometry(p);
  const TensorExpr& x = args.operands[0];
  std::vector<IterAxis> k;
  for (const WindowAxis& a : g.window)
    k.push_back(tir::reduce_axis(a.size, fmt::format("k{}", k.size())));
  const ReduceOp op = kind == PoolKind::kMax ? ReduceOp::kMax : ReduceOp::kSum;
  const TensorExpr padded =
      padded_operand(x, g, p.ceil_mode, result_shape(args), tir::reduce_identity(op, x.dtype()));
  const TensorExpr pooled = tir::compute(
      "pooled", result_shape(args),
      [&](const Indices& i) {
        const Expr v = padded(under_window(g, i, k));
        return tir::reduce(op, k, kind == PoolKind::kMax ? v : widened(v));
      },
      "pool");
  if (kind == PoolKind::kMax) return {pooled};
  return define(args, "average", [&](const Indices& i) {
    return tir::cast(pooled(i) / tir::cast(counted(x, g, p, i), pooled.dtype()), x.dtype());
  });
}

double pool_flops(const CostArgs& args, const PoolAttrs& p) {
  double window = 1;
  for (std::int64_t s : p.pool_size) window *= static_cast<double>(s);
  return window * element_count(args.result);
}

}  // namespace tessera::ops
