// SPDX-License-Identifier: Apache-2.0
// Unique: equal slices come to stand beside each other, and the first of each run stays. How many
// there are is known at run time.
#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

constexpr std::int64_t kMaxSorts = 8;  // of columns one after the other

Value argsort(Value v) {
  return v.apply("argsort", {{"axis", 0}, {"is_ascend", true}, {"dtype", kInt64}});
}

// 0, 1, 2, ... for each element of an order.
Value places_of(Value order) {
  const Value ones = order * 0.0 + 1.0;
  return ones.apply("cumsum", {{"axis", 0}}) - 1.0;
}

// Elements at `indices` of dimension 0, which may differ from column to column.
Value gather(Value v, Value indices) {
  return {v.node(), v.node().call("gather", {v, indices}, {{"axis", 0}})};
}

// How many values smaller than it each element's column has.
Value ranks_in_columns(Value rows) {
  const Value order = argsort(rows), sorted = gather(rows, order);
  const Value before = sorted.take(maximum(places_of(order.at(1, 0)) - 1.0, 0.0), 0);
  const Value starts = {rows.node(), rows.node().call("not_equal", {sorted, before})};
  return gather(starts.cast(kInt64).apply("cumsum", {{"axis", 0}}), argsort(order));
}

// A column of numbers in the order of the rows (n, m): two columns' ranks make one number, until
// one column is left.
Value keys_of_rows(Value rows) {
  for (std::int64_t c = rows.size(1); c > 1; c = (c + 1) / 2) {
    Value ranks = ranks_in_columns(rows);
    if (c % 2 == 1) ranks = concat(rows.node(), {ranks, ranks.slice(1, 0, 1) * 0.0}, 1);
    const Value pairs = ranks.reshape_to({ranks.dim(0), (c + 1) / 2, 2});
    const Value more_than_any = pairs.apply("max", {{"axis", Ints{0, 1, 2}}}) + 1.0;
    rows = pairs.at(2, 0) * more_than_any + pairs.at(2, 1);
  }
  return rows;
}

// The order of the rows (n, m) by their elements, the first counting most; equal rows as they come.
Value order_of_rows(Value rows) {
  if (rows.size(1) > kMaxSorts) rows = keys_of_rows(rows);
  std::int64_t c = rows.size(1) - 1;
  Value order = argsort(rows.at(1, c));
  while (c-- > 0) order = order.take(argsort(rows.at(1, c).take(order, 0)), 0);
  return order;
}

// Where a row differs from that before it; the first does.
Value starts_of_runs(Value rows, Value places) {
  const Value before = rows.take(maximum(places - 1.0, 0.0), 0);
  const Value differs = {rows.node(), rows.node().call("not_equal", {rows, before})};
  return equal(places, 0.0) || differs.apply("any", {{"axis", Ints{1}}});
}

struct Unique {
  Value first;    // of each value, where it occurs first
  Value inverse;  // for each slice, which value it is
  Value counts;
};

// Values in order of size.
Unique sorted_values(Value rows) {
  const Value order = order_of_rows(rows), places = places_of(order);
  const Value starts = starts_of_runs(rows.take(order, 0), places);
  const Value runs = starts.apply("argwhere").squeeze(1).cast(kInt64);
  const Value number = starts.cast(kInt64).apply("cumsum", {{"axis", 0}}) - 1.0;
  const Value of_run = number.take(runs, 0).expand_dims(1);
  const Value belongs = equal(of_run, number.expand_dims(0));
  return {order.take(runs, 0), number.take(argsort(order), 0),
          belongs.cast(kInt64).sum({1}, false)};
}

// ... in the order in which they occur.
Unique in_order_of_occurrence(const Unique& u) {
  const Value order = argsort(u.first);
  return {u.first.take(order, 0), argsort(order).take(u.inverse, 0), u.counts.take(order, 0)};
}

std::vector<NodeId> convert_unique(Node& n) {
  Value x = input(n, 0);
  if (!n.has_attr("axis")) x = x.reshape_to({num_elements(x.shape())});
  const std::int64_t axis = n.has_attr("axis") ? n.axis_attr(0, x) : 0;
  Ints front{axis};
  for (std::int64_t d = 0; d < x.rank(); ++d) {
    if (d != axis) front.push_back(d);
  }
  const Value slices = x.transpose(front);
  const Dim count = slices.dim(0);
  const Dim columns = num_elements(slices.dims(1, slices.rank()));
  if (!columns.is_constant() || columns.constant() < 1) {
    n.unsupported(fmt::format("slices of {} elements", to_string(columns)));
  }
  if (count == Dim(0)) n.unsupported("an empty input");
  Unique u = sorted_values(slices.reshape_to({count, columns}));
  if (!n.flag_attr("sorted", true)) u = in_order_of_occurrence(u);
  return {x.take(u.first, axis), u.first, u.inverse, u.counts};
}

constexpr Converter kUniqueTable[] = {{"Unique", 11, convert_unique}};

}  // namespace

extern const std::span<const Converter> unique_converters;
const std::span<const Converter> unique_converters = kUniqueTable;

}  // namespace tessera::import
