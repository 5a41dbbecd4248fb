// SPDX-License-Identifier: Apache-2.0
#include "import/node.h"

#include <fmt/format.h>

#include "import/graph_importer.h"

namespace tessera::import {

Node::Node(GraphImporter& importer, const onnx::NodeProto& proto, int opset)
    : importer_(importer), proto_(proto), opset_(opset) {
  const std::string output = proto.output_size() > 0 ? proto.output(0) : "";
  location_ = model_node_location(
      importer.model().path(),
      proto.name().empty() ? fmt::format("{} -> {}", proto.op_type(), output) : proto.name());
}

bool Node::has_input(std::size_t i) const {
  return i < num_inputs() && !proto_.input(static_cast<int>(i)).empty();
}

bool Node::uses_output(std::size_t i) const {
  return i < num_outputs() && !proto_.output(static_cast<int>(i)).empty();
}

NodeId Node::input(std::size_t i) const {
  if (!has_input(i)) invalid(Code::kWrongArity, fmt::format("input {} is not given", i));
  return *importer_.find_value(proto_.input(static_cast<int>(i)));
}

std::vector<NodeId> Node::inputs() const {
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    if (has_input(i)) all.push_back(input(i));
  }
  return all;
}

const Type& Node::type(NodeId id) const { return importer_.builder().peek().type(id); }

std::vector<std::int64_t> Node::sizes(NodeId id) const {
  const auto known = constant_shape(shape(id));
  if (!known) unsupported(fmt::format("a value of the shape {}", to_string(shape(id))));
  return *known;
}

const Tensor* Node::constant(NodeId id) const { return importer_.constant_of(id); }

const Tensor& Node::need_constant(std::size_t i, std::string_view what) const {
  const Tensor* tensor = constant(input(i));
  if (tensor == nullptr) unsupported(fmt::format("{} that is computed at run time", what));
  return *tensor;
}

std::vector<std::int64_t> Node::need_ints(std::size_t i, std::string_view what) const {
  const Tensor& tensor = need_constant(i, what);
  std::vector<std::int64_t> values;
  for (std::int64_t k = 0; k < tensor.num_elements(); ++k) values.push_back(element_as_int(tensor, k));
  return values;
}

const onnx::AttributeProto* Node::find_attr(std::string_view name) const {
  for (const auto& a : proto_.attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

bool Node::has_attr(std::string_view name) const { return find_attr(name) != nullptr; }

std::int64_t Node::int_attr(std::string_view name, std::int64_t fallback) const {
  const auto* a = find_attr(name);
  return a == nullptr ? fallback : a->i();
}

double Node::float_attr(std::string_view name, double fallback) const {
  const auto* a = find_attr(name);
  return a == nullptr ? fallback : static_cast<double>(a->f());
}

std::string Node::string_attr(std::string_view name, std::string fallback) const {
  const auto* a = find_attr(name);
  return a == nullptr ? std::move(fallback) : a->s();
}

std::vector<std::int64_t> Node::ints_attr(std::string_view name,
                                          std::vector<std::int64_t> fallback) const {
  const auto* a = find_attr(name);
  if (a == nullptr) return fallback;
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> Node::floats_attr(std::string_view name, std::vector<double> fallback) const {
  const auto* a = find_attr(name);
  if (a == nullptr) return fallback;
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> Node::strings_attr(std::string_view name) const {
  const auto* a = find_attr(name);
  if (a == nullptr) return {};
  return {a->strings().begin(), a->strings().end()};
}

std::optional<Tensor> Node::tensor_attr(std::string_view name) const {
  const auto* a = find_attr(name);
  if (a == nullptr) return std::nullopt;
  Result<Tensor> tensor = importer_.model().tensor(a->t(), location_);
  if (!tensor) throw NodeError{tensor.error().list.front()};
  return std::move(*tensor);
}

std::int64_t Node::axis(std::int64_t value, std::int64_t rank) const {
  if (value < -rank || value >= rank) {
    invalid(Code::kWrongAttribute,
            fmt::format("axis {} lies outside of the {} dimensions of its input", value, rank));
  }
  return value < 0 ? value + rank : value;
}

NodeId Node::call(std::string_view op, std::span<const NodeId> args, Attrs attrs) {
  return importer_.add_call(ops::op(op), args, std::move(attrs), location_);
}

NodeId Node::constant(Tensor tensor) { return importer_.add_constant(std::move(tensor)); }

NodeId Node::scalar(double value, DType dtype) {
  return constant(tensor_from_doubles({}, dtype, std::span(&value, 1)));
}

NodeId Node::ints(const std::vector<std::int64_t>& values) {
  return constant(tensor_from_ints({static_cast<std::int64_t>(values.size())}, kInt64, values));
}

NodeId Node::tuple(std::span<const NodeId> fields) {
  std::vector<Type> types;
  for (const NodeId f : fields) types.push_back(type(f));
  const NodeId id = importer_.builder().tuple(fields);
  importer_.builder().set_type(id, tuple_type(std::move(types)));
  return id;
}

NodeId Node::project(NodeId tuple, int index) {
  const Type field = type(tuple).fields()[static_cast<std::size_t>(index)];
  const NodeId id = importer_.builder().project(tuple, index);
  importer_.builder().set_type(id, field);
  return id;
}

NodeId Node::reshape(NodeId x, const std::vector<std::int64_t>& new_shape) {
  if (constant_shape(shape(x)) == new_shape) return x;
  return call("reshape", {x}, {{"newshape", new_shape}});
}

NodeId Node::transpose(NodeId x, const std::vector<std::int64_t>& axes) {
  bool identity = true;
  for (std::size_t i = 0; i < axes.size(); ++i) identity &= axes[i] == static_cast<std::int64_t>(i);
  return identity ? x : call("transpose", {x}, {{"axes", axes}});
}

NodeId Node::cast(NodeId x, DType to) {
  return dtype(x) == to ? x : call("cast", {x}, {{"dtype", to}});
}

void Node::unsupported(std::string_view what) const {
  throw NodeError{error(Code::kUnsupportedOnnxNode, location_,
                        "operator `{}` of ai.onnx opset {}: {} is not supported", op_type(), opset_, what)};
}

void Node::invalid(Code code, std::string finding) const {
  throw NodeError{error(code, location_, "operator `{}`: {}", op_type(), finding)};
}

}  // namespace tessera::import
