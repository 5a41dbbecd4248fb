// SPDX-License-Identifier: Apache-2.0
#include "ops/records/sorting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::ops {
namespace {

bool is_greater(double a, double b) { return a > b || (std::isnan(a) && !std::isnan(b)); }
bool is_greater(std::int64_t a, std::int64_t b) { return a > b; }

Expr is_greater(const Expr& a, const Expr& b) {
  if (!a.dtype().is_float()) return tir::gt(a, b);
  return tir::logical_or(tir::gt(a, b), tir::logical_and(tir::ne(a, a), tir::eq(b, b)));
}

}  // namespace

Elements<std::int64_t> sorted_places(const Tensor& data, const SortOrder& order) {
  const Ints strides = row_major_strides(data.shape);
  Ints rows = data.shape;
  rows[order.axis] = 1;
  Elements<std::int64_t> places(data.num_elements());
  in_domain(data.dtype, [&]<class T>(T) {
    const Elements<T> x = values_of<T>(data);
    for (Counter row(rows); row; ++row) {
      const std::int64_t base = row.offset(strides), step = strides[order.axis];
      Ints along(static_cast<std::size_t>(data.shape[order.axis]));
      std::iota(along.begin(), along.end(), 0);
      std::stable_sort(along.begin(), along.end(), [&](std::int64_t i, std::int64_t j) {
        const T a = x[base + i * step], b = x[base + j * step];
        return order.is_ascend ? is_greater(b, a) : is_greater(a, b);
      });
      for (std::size_t k = 0; k < along.size(); ++k) {
        places[base + static_cast<std::int64_t>(k) * step] = along[k];
      }
    }
    return 0;
  });
  return places;
}

Tensor taken_along(const Tensor& data, const Elements<std::int64_t>& places, const Ints& shape,
                   std::int64_t axis) {
  const Ints strides = row_major_strides(data.shape);
  return gather_elements(data, shape, [&](const Counter& c) {
    const std::int64_t at = c.offset(strides);
    return at + (places[at] - c[axis]) * strides[axis];
  });
}

TensorExpr sorted_places(const TensorExpr& data, const SortOrder& order,
                         const std::vector<Expr>& shape) {
  const auto along = [&](Indices i, const Expr& at) {
    i[order.axis] = at;
    return i;
  };
  const Expr length = data.shape()[order.axis];
  const IterAxis j = tir::reduce_axis(length, "j"), k = tir::reduce_axis(length, "k");
  const TensorExpr rank = tir::compute(
      "rank", data.shape(),
      [&](const Indices& i) {
        const Expr mine = data(i), other = data(along(i, j.var));
        const Expr precedes = order.is_ascend ? is_greater(mine, other) : is_greater(other, mine);
        const Expr follows = order.is_ascend ? is_greater(other, mine) : is_greater(mine, other);
        const Expr is_tie =
            tir::logical_and(tir::logical_not(follows), tir::lt(j.var, i[order.axis]));
        return tir::sum({j}, tir::select(tir::logical_or(precedes, is_tie), Expr(1), Expr(0)));
      },
      "sort");
  return tir::compute(
      "places", shape,
      [&](const Indices& i) {
        const Expr hit = tir::eq(rank(along(i, k.var)), i[order.axis]);
        return tir::reduce(ReduceOp::kMax, {k}, tir::select(hit, k.var, Expr(0)));
      },
      "sort");
}

TensorExpr taken_along(const TensorExpr& data, const TensorExpr& places, std::int64_t axis) {
  return tir::compute("sorted", places.shape(), [&](const Indices& i) {
    Indices at = i;
    // They are places; bounded for the proof that this reads inside.
    at[axis] = tir::max(tir::min(places(i), data.shape()[axis] - 1), 0);
    return data(at);
  });
}

}  // namespace tessera::ops
