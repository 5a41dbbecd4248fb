// SPDX-License-Identifier: Apache-2.0
// `Scan`: a loop over the slices of its inputs.
#include <fmt/format.h>

#include "import/graph_importer.h"
#include "import/loop.h"
#include "import/value.h"

namespace tessera::import {
namespace {

Ints checked_list(const Node& at, std::string_view name, std::size_t count) {
  Ints values = at.ints_attr(name, Ints(count, 0));
  if (values.size() != count) {
    at.invalid(Code::kWrongAttribute, fmt::format("attribute `{}` has {} values instead of {}",
                                                  name, values.size(), count));
  }
  return values;
}

// Opset 8 knows batches, each a loop of its own, and lengths of them: supported is a single one.
NodeId without_batch(Node& at, NodeId value) {
  if (at.rank(value) == 0 || at.dim(value, 0) != Dim(1)) {
    at.unsupported("of opset 8, a batch other than 1");
  }
  return at.call("squeeze", {value}, {{"axis", Ints{0}}});
}

// The result with its rows along another axis.
NodeId with_rows_at(Node& at, NodeId value, std::int64_t axis) {
  Ints axes;
  for (std::int64_t d = 1; d < at.rank(value); ++d) axes.push_back(d);
  axes.insert(axes.begin() + at.axis(axis, at.rank(value)), 0);
  return at.transpose(value, axes);
}

}  // namespace

// The number of slices of a sequence.
NodeId GraphImporter::length_of(Node& at, NodeId value, std::int64_t axis) {
  const Dim length = at.dim(value, axis);
  if (!length.is_unknown()) return builder_.scalar_size(length);
  const NodeId sizes = call("shape_of", {value}, {{"dtype", kInt64}});
  return call("take", {sizes, builder_.constant(tensor_from_ints({}, kInt64, Ints{axis}))},
              {{"axis", 0}});
}

std::vector<NodeId> GraphImporter::import_scan(const onnx::NodeProto& proto) {
  Node at(builder_, *scope_, model_, proto, location_of(proto));
  const bool has_batch = at.opset() < 9;
  const std::size_t first = has_batch ? 1 : 0;
  Loop loop;
  loop.graph = &at.graph_attr("body");
  if (has_sequences(at, *loop.graph)) at.unsupported("a sequence of tensors");
  const std::int64_t sliced = at.need_int_attr("num_scan_inputs");
  const std::int64_t carried = static_cast<std::int64_t>(at.num_inputs() - first) - sliced;
  const std::int64_t scans = loop.graph->output_size() - carried;
  if (sliced < 1 || carried < 0 || scans < 0 || loop.graph->input_size() != carried + sliced ||
      proto.output_size() != loop.graph->output_size()) {
    at.invalid(Code::kBadOnnxGraph, "its inputs and outputs are not those of its body");
  }
  const auto num_sliced = static_cast<std::size_t>(sliced);
  const auto num_scans = static_cast<std::size_t>(scans);
  const Ints directions =
      checked_list(at, has_batch ? "directions" : "scan_input_directions", num_sliced);
  const Ints axes =
      has_batch ? Ints(num_sliced, 0) : checked_list(at, "scan_input_axes", num_sliced);
  const Ints out_directions =
      has_batch ? Ints(num_scans, 0) : checked_list(at, "scan_output_directions", num_scans);
  const Ints out_axes =
      has_batch ? Ints(num_scans, 0) : checked_list(at, "scan_output_axes", num_scans);
  const auto operand = [&](std::int64_t i) {
    const NodeId value = at.input(first + static_cast<std::size_t>(i));
    return has_batch ? without_batch(at, value) : value;
  };
  loop.condition = builder_.constant(tensor_from_ints({}, kBool, Ints{1}));
  for (int i = 0; i < carried; ++i) {
    loop.carried.push_back({loop.graph->input(i).name(), operand(i)});
  }
  std::optional<std::pair<Value, std::int64_t>> first_sequence;  // with its axis
  for (std::size_t i = 0; i < num_sliced; ++i) {
    NodeId value = operand(carried + static_cast<std::int64_t>(i));
    const std::int64_t axis = at.axis(axes[i], at.rank(value));
    // All sequences have the length of the first one.
    if (!first_sequence) first_sequence.emplace(Value(at, value), axis);
    value = Value(at, value).matched(axis, first_sequence->first, first_sequence->second);
    const Dim length = at.dim(value, axis);
    if (const auto known = length.as_constant()) {
      loop.count = std::min(loop.count.value_or(*known), *known);
    } else if (!loop.limit) {
      loop.trips = length;
      loop.limit = loop.captured.size();
      loop.captured.push_back({"", length_of(at, value, axis)});
    }
    loop.slices.push_back(
        {loop.graph->input(static_cast<int>(carried + static_cast<std::int64_t>(i))).name(),
         loop.captured.size(), axis, directions[i] != 0});
    loop.captured.push_back({"", value});
  }
  for (std::size_t i = 0; i < num_scans; ++i) {
    const int output = static_cast<int>(carried) + static_cast<int>(i);
    loop.scans.push_back({.name = proto.output(output),
                          .row = static_cast<std::size_t>(output) + 1,
                          .backward = out_directions[i] != 0});
  }
  if (loop.count) loop.limit.reset();  // all sequences have one length
  at.check_all_was_read();
  std::vector<NodeId> outputs = make_loop(at, loop);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_scan = i >= static_cast<std::size_t>(carried);
    if (is_scan)
      outputs[i] = with_rows_at(at, outputs[i], out_axes[i - static_cast<std::size_t>(carried)]);
    if (has_batch) outputs[i] = at.call("expand_dims", {outputs[i]}, {{"axis", 0}});
  }
  return outputs;
}

}  // namespace tessera::import
