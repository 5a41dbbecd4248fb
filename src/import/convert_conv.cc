// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling.
#include "import/converters.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;

// The window of a convolution or pooling: one entry a spatial dimension, pads begins first.
struct Window {
  Ints kernel, strides, dilations, pads;
};

std::string ranked(std::string_view op, std::size_t spatial) {
  return std::string(op) + std::to_string(spatial) + "d";
}

// SAME_UPPER and SAME_LOWER: the output has ceil(input / stride) elements.
Ints same_pads(const Window& w, const Ints& input, bool upper) {
  const std::size_t n = w.kernel.size();
  Ints pads(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t out = (input[i + 2] + w.strides[i] - 1) / w.strides[i];
    const std::int64_t window = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, (out - 1) * w.strides[i] + window - input[i + 2]);
    pads[i] = upper ? total / 2 : total - total / 2;
    pads[i + n] = total - pads[i];
  }
  return pads;
}

Window read_window(Node& n, Ints kernel) {
  const std::size_t spatial = kernel.size();
  Window w;
  w.kernel = std::move(kernel);
  w.strides = n.ints_attr("strides", Ints(spatial, 1));
  w.dilations = n.ints_attr("dilations", Ints(spatial, 1));
  w.pads = n.ints_attr("pads", Ints(2 * spatial, 0));
  const std::string automatic = n.string_attr("auto_pad", "NOTSET");
  if (automatic == "VALID") w.pads.assign(2 * spatial, 0);
  if (automatic.starts_with("SAME")) {
    w.pads = same_pads(w, n.sizes(n.input(0)), automatic == "SAME_UPPER");
  }
  if (w.strides.size() != spatial || w.dilations.size() != spatial || w.pads.size() != 2 * spatial) {
    n.invalid(Code::kWrongAttribute, "strides, dilations or pads do not fit the kernel's dimensions");
  }
  return w;
}

std::size_t spatial_rank(Node& n) {
  const std::int64_t rank = n.rank(n.input(0));
  if (rank < 3 || rank > 5) n.unsupported("an input of rank " + std::to_string(rank));
  return static_cast<std::size_t>(rank - 2);
}

NodeId add_bias(Node& n, NodeId y) {
  return n.has_input(2) ? n.call("nn.bias_add", {y, n.input(2)}, {{"axis", 1}}) : y;
}

std::vector<NodeId> convert_conv(Node& n) {
  const std::size_t spatial = spatial_rank(n);
  const Ints weight = n.sizes(n.input(1));
  const Window w = read_window(n, Ints(weight.begin() + 2, weight.end()));
  const NodeId y = n.call(ranked("nn.conv", spatial), {n.input(0), n.input(1)},
                          {{"strides", w.strides}, {"padding", w.pads}, {"dilation", w.dilations},
                           {"groups", n.int_attr("group", 1)}, {"channels", weight[0]},
                           {"kernel_size", w.kernel}});
  return {add_bias(n, y)};
}

Attrs pool_attrs(Node& n, const Window& w) {
  return {{"pool_size", w.kernel}, {"strides", w.strides}, {"dilation", w.dilations},
          {"padding", w.pads}, {"ceil_mode", n.int_attr("ceil_mode", 0) != 0}};
}

std::vector<NodeId> convert_max_pool(Node& n) {
  const std::size_t spatial = spatial_rank(n);
  const Window w = read_window(n, n.ints_attr("kernel_shape"));
  return {n.call(ranked("nn.max_pool", spatial), {n.input(0)}, pool_attrs(n, w))};
}

std::vector<NodeId> convert_average_pool(Node& n) {
  const std::size_t spatial = spatial_rank(n);
  const Window w = read_window(n, n.ints_attr("kernel_shape"));
  Attrs attrs = pool_attrs(n, w);
  attrs.set("count_include_pad", n.int_attr("count_include_pad", 0) != 0);
  return {n.call(ranked("nn.avg_pool", spatial), {n.input(0)}, std::move(attrs))};
}

// Over all spatial dimensions, which stay with size 1.
NodeId global(Node& n, std::string_view op) {
  Ints axes;
  for (std::int64_t i = 2; i < n.rank(n.input(0)); ++i) axes.push_back(i);
  return n.call(op, {n.input(0)}, {{"axis", axes}, {"keepdims", true}});
}

std::vector<NodeId> convert_global_average_pool(Node& n) {
  if (n.rank(n.input(0)) == 4) return {n.call("nn.global_avg_pool2d", {n.input(0)})};
  return {global(n, "mean")};
}
std::vector<NodeId> convert_global_max_pool(Node& n) { return {global(n, "max")}; }

constexpr Converter kTable[] = {
    {"Conv", 1, convert_conv},
    {"MaxPool", 1, convert_max_pool},
    {"AveragePool", 1, convert_average_pool},
    {"GlobalAveragePool", 1, convert_global_average_pool},
    {"GlobalMaxPool", 1, convert_global_max_pool},
};

}  // namespace

extern const std::span<const Converter> conv_converters;
const std::span<const Converter> conv_converters = kTable;

}  // namespace tessera::import
