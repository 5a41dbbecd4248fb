// SPDX-License-Identifier: Apache-2.0
// Pooling.
#include <cmath>

#include "import/converters.h"
#include "import/indices.h"
#include "import/window.h"

namespace tessera::import {
namespace {

// The place of each window's maximum, counted in the whole tensor. Window by window the places are
// constants; what is gathered there is compared.
Value max_places(Node& n, const Window& w, const Ints& result) {
  const Value x = input(n, 0);
  const Ints sizes = x.sizes();
  const std::size_t spatial = w.kernel.size();
  const bool column_major = n.int_attr("storage_order", 0) != 0;
  const std::int64_t outputs = product(result, 2, result.size()), taps = product(w.kernel);
  const std::int64_t plane = product(sizes, 2, sizes.size());
  if (plane == 0) n.unsupported("places of an empty plane");
  n.make_room(2 * static_cast<double>(outputs) * static_cast<double>(taps));
  Ints read, stored;  // for each output and tap; -1 in the padding
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t at = 0, column_at = 0, out = o, tap = t, step = 1, column_step = plane;
      bool inside = true;
      for (std::size_t d = spatial; d-- > 0;) {
        const std::int64_t i =
            out % result[d + 2] * w.strides[d] + tap % w.kernel[d] * w.dilations[d] - w.pads[d];
        inside &= i >= 0 && i < sizes[d + 2];
        column_step /= sizes[d + 2];
        at += i * step;
        column_at += i * column_step;
        step *= sizes[d + 2];
        out /= result[d + 2];
        tap /= w.kernel[d];
      }
      read.push_back(inside ? at : -1);
      stored.push_back(inside ? (column_major ? column_at : at) : 0);
    }
  }
  const std::int64_t planes = sizes[0] * sizes[1];
  const Value places = Value(n, n.ints(read)).reshape({outputs, taps});
  const Value flat = x.reshape({planes, plane}).cast(kFloat64);
  const Value values = where(places >= 0.0, flat.take(places, 1), flat.number(-HUGE_VAL));
  const Value best = values.apply("argmax", {{"axis", Ints{2}}, {"dtype", kInt64}});
  const Value tap = best + (iota(n, outputs) * static_cast<double>(taps)).reshape({1, outputs});
  const Value first = (iota(n, planes) * static_cast<double>(plane)).reshape({planes, 1});
  return (Value(n, n.ints(stored)).take(tap, 0) + first).reshape(result);
}

std::vector<NodeId> convert_max_pool(Node& n) {
  const Value x = input(n, 0);
  const Window w = pool_window(x);
  n.ignore_attr("storage_order");  // of the places
  const Value y = x.apply(ranked("nn.max_pool", w.kernel.size()), pool_attrs(n, w));
  if (!n.uses_output(1)) return {y};
  return {y, max_places(n, w, y.sizes())};
}

std::vector<NodeId> convert_average_pool(Node& n) { return {average_pool(input(n, 0))}; }

// The mean of |x|^p over the window, times its size, to the power 1/p.
std::vector<NodeId> convert_lp_pool(Node& n) {
  const Value x = input(n, 0);
  const Window w = read_window(n, x, n.need_ints_attr("kernel_shape"));
  const auto p = static_cast<double>(n.int_attr("p", 2));
  Attrs attrs = pool_attrs(n, w);
  attrs.set("count_include_pad", true);
  const Value mean =
      power(x.apply("abs"), p).apply(ranked("nn.avg_pool", w.kernel.size()), std::move(attrs));
  return {power(mean * static_cast<double>(product(w.kernel)), 1 / p)};
}

// Over all spatial dimensions, which stay with size 1.
std::vector<NodeId> global(Node& n, std::string_view op) {
  const Value x = input(n, 0);
  if (x.rank() == 4)
    return {x.apply(op == "mean" ? "nn.global_avg_pool2d" : "nn.global_max_pool2d")};
  return {x.apply(op, {{"axis", range(2, x.rank())}, {"keepdims", true}})};
}

std::vector<NodeId> convert_global_average_pool(Node& n) { return global(n, "mean"); }
std::vector<NodeId> convert_global_max_pool(Node& n) { return global(n, "max"); }

std::vector<NodeId> convert_global_lp_pool(Node& n) {
  const Value x = input(n, 0);
  const auto p = static_cast<double>(n.int_attr("p", 2));
  return {power(power(x.apply("abs"), p).sum(range(2, x.rank())), 1 / p)};
}

// Values go to the places that a MaxPool reports; zero elsewhere. Places count in the pooled
// tensor's input, and an output_shape larger than that keeps them at its front corner.
std::vector<NodeId> convert_max_unpool(Node& n) {
  const Value x = input(n, 0), places = input(n, 1);
  const Ints sizes = x.sizes(), kernel = n.need_ints_attr("kernel_shape");
  const Window w = read_window(n, x, kernel);
  check_extents(n, sizes);
  Ints inner = {sizes[0], sizes[1]};
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    inner.push_back((sizes[d + 2] - 1) * w.strides[d] + kernel[d] - w.pads[d] -
                    w.pads[d + kernel.size()]);
  }
  Ints result = inner;
  if (n.has_input(2)) {
    const auto known = n.known_ints(2);
    const auto shape = known ? known : n.declared_shape(0);
    if (!shape) n.need_constant(2, "an output shape");
    result = *shape;
  }
  check_extents(n, result);
  if (result.size() != inner.size() || places.rank() != x.rank()) {
    n.invalid(Code::kShapeMismatch, "its indices and output shape must be of its input's rank");
  }
  const Value to = zeros(n, {product(inner)}, x.dtype());
  const NodeId into = checked_indices(n, places.reshape({product(sizes)}), to, {0});
  const Value flat(n, n.call("scatter_elements", {to, into, x.reshape({product(sizes)})}));
  relay::AttrArray width;
  for (std::size_t d = 0; d < inner.size(); ++d) {
    width.emplace_back(relay::AttrArray{0, result[d] - inner[d]});
  }
  return {n.call("nn.pad", {flat.reshape(inner), x.number(0)}, {{"pad_width", width}})};
}

constexpr Converter kPoolTable[] = {
    {"MaxPool", 1, convert_max_pool},
    {"AveragePool", 1, convert_average_pool},
    {"LpPool", 1, convert_lp_pool},
    {"GlobalAveragePool", 1, convert_global_average_pool},
    {"GlobalMaxPool", 1, convert_global_max_pool},
    {"GlobalLpPool", 1, convert_global_lp_pool},
    {"MaxUnpool", 9, convert_max_unpool},
};

}  // namespace

extern const std::span<const Converter> pool_converters;
const std::span<const Converter> pool_converters = kPoolTable;

}  // namespace tessera::import
