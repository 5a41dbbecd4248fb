// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values, which are gone after the import: the number of elements, and
// whether there is a value, are known here.
#include "import/converters.h"
#include "import/indices.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// A sequence in place of the only output.
std::vector<NodeId> give(Node& n, Sequence s) {
  n.set_sequence_output(0, std::move(s));
  return {NodeId()};
}

// The place that input i names among `count`; `fallback` where it is not given.
std::size_t sequence_place(Node& n, std::size_t i, std::size_t count, std::int64_t fallback) {
  const std::int64_t given = n.has_input(i) ? n.need_int(i, "a position") : fallback;
  const auto size = static_cast<std::int64_t>(count);
  if (given < -size || given >= size) {
    n.invalid(Code::kIndexOutOfRange,
              fmt::format("its position is {} in a sequence of {}", given, size));
  }
  return static_cast<std::size_t>(given < 0 ? given + size : given);
}

std::vector<NodeId> sequence_empty(Node& n) {
  n.ignore_attr("dtype");
  return give(n, {});
}

std::vector<NodeId> sequence_construct(Node& n) { return give(n, {n.inputs()}); }

std::vector<NodeId> sequence_insert(Node& n) {
  Sequence s = n.sequence(0);
  const std::size_t count = s.elements.size();
  // After the last one is a place, too; from the end places count without it.
  const bool at_end = !n.has_input(2) || n.need_int(2, "a position") == std::int64_t(count);
  const std::size_t at = at_end ? count : sequence_place(n, 2, count, 0);
  s.elements.insert(s.elements.begin() + static_cast<std::ptrdiff_t>(at), n.input(1));
  return give(n, std::move(s));
}

std::vector<NodeId> sequence_erase(Node& n) {
  Sequence s = n.sequence(0);
  const std::size_t at = sequence_place(n, 1, s.elements.size(), -1);
  s.elements.erase(s.elements.begin() + static_cast<std::ptrdiff_t>(at));
  return give(n, std::move(s));
}

// A position that comes at run time needs elements of one type.
std::vector<NodeId> sequence_at(Node& n) {
  const Sequence& s = n.sequence(0);
  if (n.known_int(1)) return {s.elements[sequence_place(n, 1, s.elements.size(), 0)]};
  std::vector<Value> elements;
  for (const NodeId element : s.elements) elements.emplace_back(n, element);
  for (const Value& element : elements) {
    if (!(n.type(element) == n.type(elements[0]))) n.need_int(1, "a position");
  }
  if (elements.empty()) n.invalid(Code::kIndexOutOfRange, "its sequence is empty");
  return {take_checked(stack(n, elements, 0), input(n, 1).reshape({}), 0)};
}

std::vector<NodeId> sequence_length(Node& n) {
  const auto count = static_cast<std::int64_t>(n.sequence(0).elements.size());
  return {n.constant(Tensor::scalar(count, kInt64))};
}

std::vector<NodeId> sequence_concat(Node& n) {
  std::vector<Value> parts;
  for (const NodeId element : n.sequence(0).elements) parts.emplace_back(n, element);
  if (parts.empty()) n.invalid(Code::kShapeMismatch, "its sequence is empty");
  const bool is_new = n.flag_attr("new_axis", false);
  const std::int64_t rank = parts[0].rank() + (is_new ? 1 : 0);
  const std::int64_t axis = n.axis(n.need_int_attr("axis"), rank);
  return {is_new ? stack(n, parts, axis) : concat(n, parts, axis)};
}

// ---- SplitToSequence ----

// Sizes of the parts of a dimension of which it is known how many there are.
Ints part_sizes(Node& n, std::int64_t axis) {
  const std::int64_t size = n.size(n.input(0), axis);
  const auto given = n.has_input(1) ? n.need_ints(1, "a size of its parts") : Ints{1};
  const bool is_list = n.has_input(1) && n.rank(n.input(1)) == 1;
  if (is_list) return given;
  n.make_room(static_cast<double>(size));
  if (given.size() != 1 || given[0] < 1)
    n.invalid(Code::kWrongAttribute, "its split is not a positive number");
  Ints sizes(static_cast<std::size_t>(size / given[0]), given[0]);
  if (size % given[0] != 0) sizes.push_back(size % given[0]);
  return sizes;
}

// Parts of sizes that come at run time, after a check that they add up.
Sequence split_by_data(Node& n, std::int64_t axis) {
  const Value sizes = input(n, 1).cast(kInt64), all = iota(sizes.sum({0}, false));
  const NodeId x =
      n.call("match_size", {n.input(0), all}, {{"axis", axis}, {"like_axis", std::int64_t{0}}});
  Value begin(n, n.ints({0}));
  Sequence s;
  for (std::int64_t i = 0; i < sizes.size(0); ++i) {
    const Value size = sizes.slice(0, i, i + 1);
    s.elements.push_back(n.call("dyn.strided_slice", {x, begin, size, n.ints({1})},
                                {{"axes", Ints{axis}}, {"slice_mode", "size"}}));
    begin = begin + size;
  }
  return s;
}

std::vector<NodeId> split_to_sequence(Node& n) {
  const Value x = input(n, 0);
  const std::int64_t axis = n.axis_attr(0, x);
  const bool keepdims = n.flag_attr("keepdims", true) || n.has_input(1);
  const bool is_open = n.has_input(1) && !n.known_ints(1);
  if (is_open && n.rank(n.input(1)) == 1) return give(n, split_by_data(n, axis));
  Sequence s;
  std::int64_t begin = 0;
  for (const std::int64_t size : part_sizes(n, axis)) {
    if (size < 0 || size > x.size(axis) - begin) {
      n.invalid(Code::kShapeMismatch, "its parts do not add up to the size of its axis");
    }
    const Value part = x.slice(axis, begin, begin + size);
    s.elements.push_back(keepdims ? part : part.squeeze(axis));
    begin += size;
  }
  if (begin != x.size(axis)) {
    n.invalid(Code::kShapeMismatch, "its parts do not add up to the size of its axis");
  }
  return give(n, std::move(s));
}

// ---- Optional values: one that holds a value is the value ----

std::vector<NodeId> convert_optional(Node& n) {
  n.ignore_attr("type");
  if (!n.has_input(0)) return give(n, {{}, true});
  if (n.is_sequence(0)) return give(n, n.sequence(0));
  return {n.input(0)};
}

bool has_value(Node& n) {
  if (!n.has_input(0)) return false;
  if (n.is_sequence(0)) return !n.sequence(0).is_absent;
  n.ignore_input(0);
  return true;
}

std::vector<NodeId> convert_has_element(Node& n) {
  return {n.constant(tensor_from_ints({}, kBool, Ints{has_value(n) ? 1 : 0}))};
}

std::vector<NodeId> convert_get_element(Node& n) {
  if (!has_value(n)) n.invalid(Code::kBadOnnxGraph, "its optional value is not there");
  if (n.is_sequence(0)) return give(n, n.sequence(0));
  return {n.input(0)};
}

constexpr Converter kSequenceTable[] = {
    {"SequenceEmpty", 11, sequence_empty},
    {"SequenceConstruct", 11, sequence_construct},
    {"SequenceInsert", 11, sequence_insert},
    {"SequenceErase", 11, sequence_erase},
    {"SequenceAt", 11, sequence_at},
    {"SequenceLength", 11, sequence_length},
    {"ConcatFromSequence", 11, sequence_concat},
    {"SplitToSequence", 11, split_to_sequence},
    {"Optional", 15, convert_optional},
    {"OptionalHasElement", 15, convert_has_element},
    {"OptionalGetElement", 15, convert_get_element},
};

}  // namespace

extern const std::span<const Converter> sequence_converters;
const std::span<const Converter> sequence_converters = kSequenceTable;

}  // namespace tessera::import
