// SPDX-License-Identifier: Apache-2.0
#include "import/node.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/records/reshape_codes.h"
#include "ops/records/table.h"

namespace tessera::import {

Node::Node(CallBuilder& builder, const Scope& scope, const OnnxModel& model,
           const onnx::NodeProto& proto, Location location)
    : builder_(builder),
      scope_(scope),
      model_(model),
      proto_(proto),
      location_(std::move(location)) {}

bool Node::has_input(std::size_t i) const {
  return i < num_inputs() && !proto_.input(static_cast<int>(i)).empty();
}

bool Node::uses_output(std::size_t i) const {
  return i < num_outputs() && !proto_.output(static_cast<int>(i)).empty();
}

int Node::narrow_type(std::size_t i) const {
  return has_input(i) ? scope_.narrow_type(proto_.input(static_cast<int>(i))) : 0;
}

NodeId Node::input(std::size_t i) const {
  if (!has_input(i)) invalid(Code::kWrongArity, fmt::format("its input {} is not given", i));
  read_inputs_.insert(i);
  if (is_sequence(i)) unsupported(fmt::format("a sequence as its input {}", i));
  return *scope_.find(proto_.input(static_cast<int>(i)));
}

bool Node::is_sequence(std::size_t i) const {
  return has_input(i) && scope_.find_sequence(proto_.input(static_cast<int>(i))) != nullptr;
}

const Sequence& Node::sequence(std::size_t i) const {
  if (!is_sequence(i)) invalid(Code::kTypeMismatch, fmt::format("its input {} is no sequence", i));
  read_inputs_.insert(i);
  return *scope_.find_sequence(proto_.input(static_cast<int>(i)));
}

std::vector<NodeId> Node::inputs() const {
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    if (has_input(i)) all.push_back(input(i));
  }
  return all;
}

Ints Node::sizes(NodeId id) const {
  const auto known = constant_shape(shape(id));
  if (!known) {
    throw NodeError{
        error(Code::kUnsupportedOnnxNode, location_,
              "operator `{}` of {}: a value of the shape {} is not supported here", op_type(),
              scope_.domain_text(proto_.domain()), to_string(shape(id)))
            .with_remedy("give the model's symbolic dimensions sizes with --dim NAME=SIZE")};
  }
  return *known;
}

Dim Node::dim(NodeId id, std::int64_t axis) const {
  if (axis < 0 || axis >= rank(id)) {
    invalid(Code::kShapeMismatch,
            fmt::format("an operand has {} dimensions, too few for it", rank(id)));
  }
  return shape(id)[static_cast<std::size_t>(axis)];
}

std::int64_t Node::size(NodeId id, std::int64_t axis) const {
  const auto known = dim(id, axis).as_constant();
  return known ? *known : sizes(id)[static_cast<std::size_t>(axis)];
}

std::optional<Shape> Node::known_sizes(std::size_t i) const {
  const NodeId id = input(i);
  if (const auto ints = constant(id) ? known_ints(i) : std::nullopt) {
    return Shape(ints->begin(), ints->end());
  }
  const Shape* found = builder_.sizes_of(id);
  if (found == nullptr) return std::nullopt;
  const bool complete =
      std::none_of(found->begin(), found->end(), [](const Dim& d) { return d.is_unknown(); });
  return complete ? std::optional(*found) : std::nullopt;
}

std::optional<Tensor> Node::constant(NodeId id) const {
  const Tensor* tensor = builder_.read_constant(id);
  return tensor == nullptr ? std::nullopt : std::optional(*tensor);
}

Tensor Node::need_constant(std::size_t i, std::string_view what) const {
  const auto tensor = constant(input(i));
  if (!tensor && builder_.is_kept(input(i))) {
    unsupported(fmt::format("{} that --keep-weights leaves open until run time", what));
  }
  if (!tensor) unsupported(fmt::format("{} that is computed at run time", what));
  return *tensor;
}

Ints Node::need_ints(std::size_t i, std::string_view what) const {
  need_constant(i, what);
  return *known_ints(i);
}

std::optional<Ints> Node::known_ints(std::size_t i) const {
  const auto tensor = constant(input(i));
  if (!tensor) return std::nullopt;
  if (tensor->dtype.is_float()) {
    invalid(Code::kDtypeMismatch, fmt::format("its input {} must be of integers", i));
  }
  Ints values;
  for (std::int64_t k = 0; k < tensor->num_elements(); ++k) {
    values.push_back(element_as_int(*tensor, k));
  }
  return values;
}

std::optional<Tensor> Node::known_number(std::size_t i) const {
  auto tensor = constant(input(i));
  if (tensor && tensor->num_elements() != 1) {
    invalid(Code::kShapeMismatch,
            fmt::format("its input {} must be one number, and has the type {}", i,
                        to_string(tensor->type())));
  }
  return tensor;
}

std::optional<std::int64_t> Node::known_int(std::size_t i) const {
  if (!known_number(i)) return std::nullopt;
  return known_ints(i)->front();
}

std::int64_t Node::need_int(std::size_t i, std::string_view what) const {
  need_constant(i, what);
  return *known_int(i);
}

std::optional<Ints> Node::declared_shape(std::size_t output) const {
  if (!uses_output(output)) return std::nullopt;
  const std::string& name = proto_.output(static_cast<int>(output));
  if (const Type* type = scope_.declared_type(name)) return constant_shape(type->shape());
  const auto implied = scope_.implied.find(name);
  return implied == scope_.implied.end() ? std::nullopt : constant_shape(implied->second);
}

std::optional<Ints> Node::declared_shape(std::size_t output, std::int64_t rank) const {
  auto shape = declared_shape(output);
  if (!shape || static_cast<std::int64_t>(shape->size()) == rank) return shape;
  builder_.warn(warning(Code::kShapeMismatch, location_,
                        "its output {} has {} dimensions, declared are {}, which count for nothing",
                        output, rank, shape->size())
                    .with_remedy("correct the declaration in the model, or omit it"));
  return std::nullopt;
}

const onnx::AttributeProto* Node::find_attr(std::string_view name,
                                            onnx::AttributeProto::AttributeType type) const {
  read_attrs_.emplace(name);
  for (const auto& a : proto_.attribute()) {
    if (a.name() != name) continue;
    // Files of IR version 1 have no types.
    if (a.type() == type || a.type() == onnx::AttributeProto::UNDEFINED) return &a;
    wrong_attribute(fmt::format("attribute `{}` must be {}; it is {}", name,
                                onnx::AttributeProto::AttributeType_Name(type),
                                onnx::AttributeProto::AttributeType_Name(a.type())));
  }
  return nullptr;
}

bool Node::has_attr(std::string_view name) const {
  for (const auto& a : proto_.attribute()) {
    if (a.name() == name) return true;
  }
  return false;
}

std::int64_t Node::int_attr(std::string_view name, std::int64_t fallback) const {
  const auto* a = find_attr(name, onnx::AttributeProto::INT);
  return a == nullptr ? fallback : a->i();
}

double Node::float_attr(std::string_view name, double fallback) const {
  const auto* a = find_attr(name, onnx::AttributeProto::FLOAT);
  return a == nullptr ? fallback : static_cast<double>(a->f());
}

std::string Node::string_attr(std::string_view name, std::string fallback) const {
  const auto* a = find_attr(name, onnx::AttributeProto::STRING);
  if (a == nullptr) return fallback;
  return a->s();
}

Ints Node::ints_attr(std::string_view name, Ints fallback) const {
  const auto* a = find_attr(name, onnx::AttributeProto::INTS);
  if (a == nullptr) return fallback;
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> Node::floats_attr(std::string_view name, std::vector<double> fallback) const {
  const auto* a = find_attr(name, onnx::AttributeProto::FLOATS);
  if (a == nullptr) return fallback;
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> Node::strings_attr(std::string_view name) const {
  const auto* a = find_attr(name, onnx::AttributeProto::STRINGS);
  if (a == nullptr) return {};
  return {a->strings().begin(), a->strings().end()};
}

std::optional<Tensor> Node::tensor_attr(std::string_view name) const {
  const auto* a = find_attr(name, onnx::AttributeProto::TENSOR);
  if (a == nullptr) return std::nullopt;
  if (is_narrow_type(a->t().data_type())) {
    unsupported(fmt::format("the data type {} of its attribute `{}`",
                            onnx_dtype_name(a->t().data_type()), name));
  }
  Result<Tensor> tensor = model_.tensor(a->t(), location_);
  if (!tensor) throw NodeError{tensor.error().list.front()};
  return std::move(*tensor);
}

const onnx::GraphProto& Node::graph_attr(std::string_view name) const {
  const auto* a = find_attr(name, onnx::AttributeProto::GRAPH);
  if (a == nullptr || !a->has_g()) {
    wrong_attribute(fmt::format("attribute `{}` is missing", name));
  }
  return a->g();
}

std::int64_t Node::need_int_attr(std::string_view name) const {
  if (!has_attr(name)) {
    wrong_attribute(fmt::format("attribute `{}` is missing", name));
  }
  return int_attr(name, 0);
}

Ints Node::need_ints_attr(std::string_view name) const {
  if (!has_attr(name)) {
    wrong_attribute(fmt::format("attribute `{}` is missing", name));
  }
  return ints_attr(name);
}

int Node::narrow_type_attr(std::string_view name) const {
  const auto number = has_attr(name) ? static_cast<int>(int_attr(name, 0)) : 0;
  return is_narrow_type(number) ? number : 0;
}

DType Node::dtype_attr(std::string_view name, DType fallback) const {
  if (!has_attr(name)) return fallback;
  const auto number = static_cast<int>(int_attr(name, 0));
  if (!onnx::TensorProto::DataType_IsValid(number) || number == onnx::TensorProto::UNDEFINED) {
    wrong_attribute(
        fmt::format("its attribute `{}` is {}, which is not a data type of ONNX", name, number));
  }
  const auto dtype = onnx_dtype(number);
  if (!dtype) {
    unsupported(
        fmt::format("the data type {} of its attribute `{}`", onnx_dtype_name(number), name));
  }
  return *dtype;
}

std::int64_t Node::axis(std::int64_t value, std::int64_t rank) const {
  if (value < -rank || value >= rank) {
    invalid(Code::kWrongAttribute,
            fmt::format("axis {} lies outside of the {} dimensions of its input", value, rank));
  }
  return value < 0 ? value + rank : value;
}

NodeId Node::call(std::string_view op, std::span<const NodeId> args, Attrs attrs) {
  const relay::Operator* found = ops::operators().find(op);
  if (found == nullptr) unsupported(fmt::format("what needs `{}`", op));
  return builder_.call(*found, args, std::move(attrs));
}

NodeId Node::scalar(double value, DType dtype) {
  return constant(tensor_from_doubles({}, dtype, std::span(&value, 1)));
}

NodeId Node::ints(const Ints& values, DType dtype) {
  return constant(tensor_from_ints({static_cast<std::int64_t>(values.size())}, dtype, values));
}

NodeId Node::reshape_to(NodeId x, const Shape& new_shape) {
  if (are_same(shape(x), new_shape)) return x;
  if (const auto known = constant_shape(new_shape)) {
    return call("reshape", {x}, {{"newshape", *known}, {"allowzero", true}});
  }
  if (const auto codes = ops::reshape_codes(shape(x), new_shape)) {
    return call("reshape", {x}, {{"newshape", *codes}});
  }
  if (!has_names(new_shape)) unsupported("a reshape to several sizes that depend on data");
  return call("dyn.reshape", {x, sizes_of(new_shape)});
}

NodeId Node::transpose(NodeId x, const Ints& axes) {
  bool identity = true;
  for (std::size_t i = 0; i < axes.size(); ++i) identity &= axes[i] == static_cast<std::int64_t>(i);
  return identity ? x : call("transpose", {x}, {{"axes", axes}});
}

NodeId Node::cast(NodeId x, DType to) {
  return dtype(x) == to ? x : call("cast", {x}, {{"dtype", to}});
}

NodeId Node::broadcast_to(NodeId x, const Shape& new_shape) {
  if (are_same(shape(x), new_shape)) return x;
  if (const auto known = constant_shape(new_shape)) {
    return call("broadcast_to", {x}, {{"shape", *known}});
  }
  if (!has_names(new_shape)) unsupported("a broadcast to sizes that depend on data");
  return call("dyn.broadcast_to", {x, sizes_of(new_shape)});
}

NodeId Node::scalar_of(NodeId x, DType wanted, std::string_view what) {
  const auto sizes = constant_shape(shape(x));
  if (dtype(x) != wanted || !sizes || rank(x) > 1 || (rank(x) == 1 && sizes->front() != 1)) {
    invalid(Code::kTypeMismatch, fmt::format("{} has the type {}", what, to_string(type(x))));
  }
  return reshape(x, {});
}

Diagnostic Node::not_supported(std::string_view what) const {
  return error(Code::kUnsupportedOnnxNode, location_, "operator `{}` of {}: {} is not supported",
               op_type(), scope_.domain_text(proto_.domain()), what)
      .with_remedy("export the model without it");
}

Diagnostic Node::wrong(Code code, const std::string& finding) const {
  return error(code, location_, "operator `{}`: {}", op_type(), finding)
      .with_remedy(std::string(kCorrectModel));
}

void Node::unsupported(std::string_view what) const { throw NodeError{not_supported(what)}; }

void Node::invalid(Code code, const std::string& finding) const {
  throw NodeError{wrong(code, finding)};
}

void Node::wrong_attribute(const std::string& finding) const {
  throw NodeError{wrong(Code::kWrongAttribute, finding), true};
}

void Node::warn(std::string_view finding, std::string_view remedy) const {
  builder_.warn(warning(Code::kUnsupportedOnnxNode, location_, "operator `{}` of {}: {}", op_type(),
                        scope_.domain_text(proto_.domain()), finding)
                    .with_remedy(std::string(remedy)));
}

void Node::check_all_was_read() const {
  for (const auto& a : proto_.attribute()) {
    // An attribute of opset 5 and older: what the operator may overwrite.
    if (read_attrs_.contains(a.name()) || a.name() == "consumed_inputs") continue;
    throw NodeError{not_supported(fmt::format("the attribute `{}`", a.name())), true};
  }
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    if (has_input(i) && !read_inputs_.contains(i)) unsupported(fmt::format("its input {}", i));
  }
}

}  // namespace tessera::import
