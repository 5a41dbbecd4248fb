// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisation.
#include "import/converters.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t product(const Ints& sizes, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) count *= sizes[i];
  return count;
}

// Until opset 12 everything from the axis on is one dimension.
NodeId softmax_like(Node& n, std::string_view op) {
  const NodeId x = n.input(0);
  if (n.opset() >= 13) {
    return n.call(op, {x}, {{"axis", n.axis(n.int_attr("axis", -1), n.rank(x))}});
  }
  const Ints sizes = n.sizes(x);
  const auto axis = static_cast<std::size_t>(n.axis(n.int_attr("axis", 1), n.rank(x)));
  const NodeId flat =
      n.reshape(x, {product(sizes, 0, axis), product(sizes, axis, sizes.size())});
  return n.reshape(n.call(op, {flat}, {{"axis", -1}}), sizes);
}

std::vector<NodeId> convert_softmax(Node& n) { return {softmax_like(n, "nn.softmax")}; }
std::vector<NodeId> convert_log_softmax(Node& n) { return {softmax_like(n, "nn.log_softmax")}; }

// Normalises over all dimensions from the axis on, which the operator sees as one.
std::vector<NodeId> convert_layer_norm(Node& n) {
  const NodeId x = n.input(0);
  const Ints sizes = n.sizes(x);
  const auto axis = static_cast<std::size_t>(n.axis(n.int_attr("axis", -1), n.rank(x)));
  const std::int64_t width = product(sizes, axis, sizes.size());
  Ints shape(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.push_back(width);
  const NodeId scale = n.reshape(n.input(1), {width});
  const NodeId bias = n.has_input(2) ? n.reshape(n.input(2), {width})
                                     : n.call("full", {n.scalar(0, n.dtype(x))}, {{"shape", Ints{width}}});
  const NodeId y = n.call("nn.layer_norm", {n.reshape(x, shape), scale, bias},
                          {{"axis", -1}, {"epsilon", n.float_attr("epsilon", 1e-5)}});
  return {n.reshape(y, sizes)};
}

std::vector<NodeId> convert_batch_norm(Node& n) {
  if (n.int_attr("training_mode", 0) != 0) n.unsupported("training mode");
  if (n.int_attr("spatial", 1) == 0) n.unsupported("spatial = 0");
  const NodeId y = n.call("nn.batch_norm", {n.input(0), n.input(1), n.input(2), n.input(3), n.input(4)},
                          {{"axis", 1}, {"epsilon", n.float_attr("epsilon", 1e-5)}});
  return {n.project(y, 0)};
}

// Inference: the identity. The mask, if asked for, is true everywhere.
std::vector<NodeId> convert_dropout(Node& n) {
  const NodeId x = n.input(0);
  if (n.has_input(2) && element_as_int(n.need_constant(2, "training mode"), 0) != 0) {
    n.unsupported("training mode");
  }
  if (!n.uses_output(1)) return {x};
  const DType mask = n.opset() < 10 ? n.dtype(x) : kBool;
  return {x, n.call("full", {n.scalar(1, mask)}, {{"shape", n.sizes(x)}, {"dtype", mask}})};
}

constexpr Converter kTable[] = {
    {"Softmax", 1, convert_softmax},
    {"LogSoftmax", 1, convert_log_softmax},
    {"LayerNormalization", 17, convert_layer_norm},
    {"BatchNormalization", 7, convert_batch_norm},
    {"Dropout", 1, convert_dropout},
};

}  // namespace

extern const std::span<const Converter> normalize_converters;
const std::span<const Converter> normalize_converters = kTable;

}  // namespace tessera::import
