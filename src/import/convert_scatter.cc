// SPDX-License-Identifier: Apache-2.0
// Scattering: Scatter, ScatterElements, ScatterND, TensorScatter.
#include "import/converters.h"
#include "import/indices.h"
#include "import/value.h"

namespace tessera::import {
namespace {

std::string reduction(Node& n) {
  const std::string name = n.string_attr("reduction", "none");
  if (name == "none") return "update";
  if (name != "add" && name != "mul" && name != "min" && name != "max") {
    n.invalid(Code::kWrongAttribute, fmt::format("it has no reduction \"{}\"", name));
  }
  return name;
}

std::vector<NodeId> convert_scatter_elements(Node& n) {
  const NodeId x = n.input(0);
  const std::int64_t axis = n.axis_attr(0, x);
  const NodeId indices = checked_indices(n, n.input(1), x, {axis});
  return {n.call("scatter_elements", {x, indices, n.input(2)},
                 {{"axis", axis}, {"reduction", reduction(n)}})};
}

// ONNX has the index tuples in the last dimension, the operator in the first.
std::vector<NodeId> convert_scatter_nd(Node& n) {
  const NodeId indices = n.input(1);
  Ints axes = range(0, n.rank(indices) - 1);
  axes.insert(axes.begin(), n.rank(indices) - 1);
  const NodeId tuples = checked_tuples(n, n.transpose(indices, axes), n.input(0), 0);
  return {n.call("scatter_nd", {n.input(0), tuples, n.input(2)}, {{"mode", reduction(n)}})};
}

// What place of the update each place of the cache takes, negative or too large where it keeps what
// it has: [place], or [batch, place] where each sample is written at an index of its own.
Value update_places(Node& n, Value cache, Value update, std::int64_t axis, bool is_circular) {
  const Value place = iota_along(cache, axis);
  if (!n.has_input(2)) return place;
  const Value given = input(n, 2).cast(kInt64), room = sizes_of(cache, axis, axis + 1);
  if (given.rank() != 1) n.invalid(Code::kShapeMismatch, "its write indices have no rank of 1");
  if (is_circular) return floor_mod(place - given.expand_dims(1), room);
  const Value begin = where(given < 0.0, given + room, given);
  // The last place is the first to lie outside.
  const Value size = sizes_of(update, axis, axis + 1);
  const Value last(n, checked_indices(n, begin + size - 1.0, cache, {axis}));
  return place - (last - size + 1.0).expand_dims(1);
}

// Each place of the cache looks up what is written to it: nothing depends on an order.
std::vector<NodeId> convert_tensor_scatter(Node& n) {
  const Value cache = input(n, 0), update = input(n, 1);
  const std::string mode = n.string_attr("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    n.invalid(Code::kWrongAttribute, fmt::format("it has no mode \"{}\"", mode));
  }
  const std::int64_t axis = n.axis(n.int_attr("axis", -2), cache.rank());
  if (axis == 0 || update.rank() != cache.rank()) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("a cache of the shape {} takes no update of the shape {} in dimension {}",
                          to_string(cache.shape()), to_string(update.shape()), axis));
  }
  if (n.dim(update, axis) == Dim(0)) {
    if (n.has_input(2)) n.ignore_input(2);
    return {cache};
  }
  const Value at = update_places(n, cache, update, axis, mode == "circular");
  const std::int64_t batch_dims = at.rank() - 1;
  const Value taken(n, n.call("take", {update, at}, {{"axis", axis}, {"batch_dims", batch_dims}}));
  Value is_written = at >= 0.0 && at < sizes_of(update, axis, axis + 1);
  for (std::int64_t d = batch_dims; d < axis; ++d) is_written = is_written.expand_dims(batch_dims);
  for (std::int64_t d = axis + 1; d < cache.rank(); ++d) is_written = is_written.expand_dims(d);
  return {where(is_written, taken, cache)};
}

constexpr Converter kScatterTable[] = {
    {"Scatter", 9, convert_scatter_elements},
    {"ScatterElements", 11, convert_scatter_elements},
    {"ScatterND", 11, convert_scatter_nd},
    {"TensorScatter", 24, convert_tensor_scatter},
};

}  // namespace

extern const std::span<const Converter> scatter_converters;
const std::span<const Converter> scatter_converters = kScatterTable;

}  // namespace tessera::import
