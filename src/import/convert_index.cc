// SPDX-License-Identifier: Apache-2.0
// Gathering and slicing: Gather, GatherND, GatherElements, Slice, OneHot, CumSum, Trilu.
#include <limits>

#include "import/converters.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<NodeId> convert_gather(Node& n) {
  const NodeId x = n.input(0), indices = n.input(1);
  const std::int64_t axis = n.axis(n.int_attr("axis", 0), n.rank(x));
  return {n.call("take", {x, indices}, {{"axis", axis}, {"mode", "wrap"}})};
}

std::vector<NodeId> convert_gather_elements(Node& n) {
  const NodeId x = n.input(0);
  return {n.call("gather", {x, n.input(1)}, {{"axis", n.axis(n.int_attr("axis", 0), n.rank(x))}})};
}

// ONNX has the index tuples in the last dimension, the operator in the first.
std::vector<NodeId> convert_gather_nd(Node& n) {
  const NodeId indices = n.input(1);
  const std::int64_t rank = n.rank(indices);
  Ints axes = {rank - 1};
  for (std::int64_t i = 0; i + 1 < rank; ++i) axes.push_back(i);
  return {n.call("gather_nd", {n.input(0), n.transpose(indices, axes)},
                 {{"batch_dims", n.int_attr("batch_dims", 0)}})};
}

std::vector<NodeId> slice(Node& n, const Ints& begin, const Ints& end, Ints axes, Ints strides) {
  const NodeId x = n.input(0);
  if (axes.empty()) {
    for (std::size_t i = 0; i < begin.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (strides.empty()) strides.assign(begin.size(), 1);
  for (std::int64_t& a : axes) a = n.axis(a, n.rank(x));
  return {n.call("strided_slice", {x},
                 {{"begin", begin}, {"end", end}, {"strides", strides}, {"axes", axes}})};
}

std::vector<NodeId> convert_slice_attrs(Node& n) {
  return slice(n, n.ints_attr("starts"), n.ints_attr("ends"), n.ints_attr("axes"), {});
}

std::vector<NodeId> convert_slice(Node& n) {
  return slice(n, n.need_ints(1, "a list of starts"), n.need_ints(2, "a list of ends"),
               n.has_input(3) ? n.need_ints(3, "a list of axes") : Ints{},
               n.has_input(4) ? n.need_ints(4, "a list of steps") : Ints{});
}

std::vector<NodeId> convert_cumsum(Node& n) {
  const NodeId x = n.input(0);
  const Ints axis = n.need_ints(1, "an axis");
  return {n.call("cumsum", {x}, {{"axis", n.axis(axis.at(0), n.rank(x))},
                                 {"exclusive", n.int_attr("exclusive", 0) != 0},
                                 {"reverse", n.int_attr("reverse", 0) != 0}})};
}

std::vector<NodeId> convert_trilu(Node& n) {
  const std::int64_t k = n.has_input(1) ? n.need_ints(1, "a diagonal").at(0) : 0;
  return {n.call("trilu", {n.input(0)}, {{"k", k}, {"upper", n.int_attr("upper", 1) != 0}})};
}

constexpr Converter kTable[] = {
    {"Gather", 1, convert_gather},
    {"GatherElements", 11, convert_gather_elements},
    {"GatherND", 11, convert_gather_nd},
    {"Slice", 1, convert_slice_attrs},
    {"Slice", 10, convert_slice},
    {"CumSum", 11, convert_cumsum},
    {"Trilu", 14, convert_trilu},
};

}  // namespace

extern const std::span<const Converter> index_converters;
const std::span<const Converter> index_converters = kTable;

}  // namespace tessera::import
