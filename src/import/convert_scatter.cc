// SPDX-License-Identifier: Apache-2.0
// Scattering: Scatter, ScatterElements, ScatterND.
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

constexpr Converter kScatterTable[] = {
    {"Scatter", 9, convert_scatter_elements},
    {"ScatterElements", 11, convert_scatter_elements},
    {"ScatterND", 11, convert_scatter_nd},
};

}  // namespace

extern const std::span<const Converter> scatter_converters;
const std::span<const Converter> scatter_converters = kScatterTable;

}  // namespace tessera::import
