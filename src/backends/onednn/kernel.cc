// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/kernel.h"

#include <algorithm>

#include "byoc/json_graph_writer.h"

namespace tessera::backends::onednn {

int Kernel::add_operand(NodeId value, std::string role, View view) {
  operands.push_back({value, std::move(role), std::move(view.dims), std::move(view.strides)});
  return static_cast<int>(operands.size()) - 1;
}

int Kernel::add_operand(NodeId value, std::string role, Shape dims) {
  operands.push_back({value, std::move(role), std::move(dims), {}});
  return static_cast<int>(operands.size()) - 1;
}

namespace {

std::vector<std::string> texts(const Ints& numbers) {
  std::vector<std::string> out;
  for (const std::int64_t n : numbers) out.push_back(std::to_string(n));
  return out;
}
std::vector<std::string> texts(const Shape& sizes) {
  std::vector<std::string> out;
  for (const Dim& d : sizes) out.push_back(byoc::size_text(d));
  return out;
}

}  // namespace

const KernelOperand* Kernel::find(std::string_view role) const {
  const auto found = std::ranges::find(operands, role, &KernelOperand::role);
  return found != operands.end() ? &*found : nullptr;
}

void Kernel::set(const std::string& name, const Ints& numbers) {
  attributes[name] = texts(numbers);
}
void Kernel::set(const std::string& name, double number) {
  attributes[name] = {fmt::format("{}", number)};
}
void Kernel::set(const std::string& name, std::string text) {
  attributes[name] = {std::move(text)};
}

bool Kernel::derive(const byoc::RegionSizes& sizes) {
  std::vector<Shape*> shapes = {&result_dims, &result_strides};
  for (KernelOperand& operand : operands) {
    shapes.push_back(&operand.dims);
    shapes.push_back(&operand.strides);
  }
  for (Shape* shape : shapes) {
    for (Dim& size : *shape) {
      auto known = sizes.derived(size);
      if (!known) return false;
      size = *std::move(known);
    }
  }
  return true;
}

std::map<std::string, std::vector<std::string>> Kernel::json_attributes() const {
  auto out = attributes;
  out["kernel"] = {kind};
  auto& roles = out["roles"];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    roles.push_back(operands[i].role);
    out[fmt::format("operand{}_dims", i)] = texts(operands[i].dims);
    if (!operands[i].strides.empty()) {
      out[fmt::format("operand{}_strides", i)] = texts(operands[i].strides);
    }
  }
  out["result_dims"] = texts(result_dims);
  if (!result_strides.empty()) out["result_strides"] = texts(result_strides);
  if (post_ops.empty()) return out;
  auto& ops = out["post_ops"];
  for (const PostOp& op : post_ops) {
    ops.push_back(op.algorithm);
    ops.push_back(std::to_string(op.operand));
    ops.push_back(fmt::format("{}", op.alpha));
    ops.push_back(fmt::format("{}", op.beta));
  }
  return out;
}

std::string_view Subject::op(NodeId id) const {
  const relay::Operator* op = f_.op(id);
  return op != nullptr ? op->name : std::string_view();
}

bool Subject::is_inside(NodeId id) const {
  return std::binary_search(match_.inside.begin(), match_.inside.end(), id);
}

Shape Subject::shape(NodeId id) const { return f_.type(id).shape(); }
DType Subject::dtype(NodeId id) const { return f_.type(id).dtype(); }

const Tensor* Subject::tensor(NodeId id) const {
  const auto* constant = f_.as<relay::Constant>(id);
  if (constant == nullptr) return nullptr;
  if (const auto* tensor = std::get_if<Tensor>(&constant->value)) return tensor;
  return match_.pool != nullptr ? &match_.pool->resolve(constant->value) : nullptr;
}

std::optional<double> Subject::scalar(NodeId id) const {
  const Tensor* t = tensor(id);
  if (t == nullptr || t->num_elements() != 1) return std::nullopt;
  return element_as_double(*t, 0);
}

const relay::AttrValue& Subject::attribute(NodeId id, std::string_view name) const {
  const auto& call = *f_.as<relay::OpCall>(id);
  if (const relay::AttrValue* given = call.attrs.find(name)) return *given;
  const relay::AttrField* field = call.op->attrs().find(name);
  TESSERA_CHECK(field != nullptr, "{} has no attribute {}", call.op->name, name);
  return field->default_value;
}

bool Subject::is_deviation(NodeId id) const {
  while (op(id) == "cast") id = operands(id)[0];
  const bool is_square =
      op(id) == "power" || (op(id) == "multiply" && operands(id)[0] == operands(id)[1]);
  return is_square || op(id) == "subtract";
}

Ints Subject::ints(NodeId id, std::string_view name) const {
  const relay::AttrValue& value = attribute(id, name);
  if (const auto* one = value.as<std::int64_t>()) return {*one};
  Ints out;
  if (const auto* list = value.as<relay::AttrArray>()) {
    for (const relay::AttrValue& v : *list) out.push_back(*v.as<std::int64_t>());
  }
  return out;
}

std::int64_t Subject::integer(NodeId id, std::string_view name) const {
  const relay::AttrValue& value = attribute(id, name);
  if (const auto* flag = value.as<bool>()) return *flag ? 1 : 0;
  const auto* number = value.as<std::int64_t>();
  return number != nullptr ? *number : 0;
}

double Subject::number(NodeId id, std::string_view name) const {
  const relay::AttrValue& value = attribute(id, name);
  if (const auto* whole = value.as<std::int64_t>()) return static_cast<double>(*whole);
  const auto* real = value.as<double>();
  return real != nullptr ? *real : 0;
}

std::string Subject::text(NodeId id, std::string_view name) const {
  const auto* text = attribute(id, name).as<std::string>();
  return text != nullptr ? *text : std::string();
}

bool Subject::is_tensor(NodeId id) const {
  return f_.type(id) && f_.type(id).is_tensor();  // fields of others are looked at by themselves
}

std::vector<NodeId> Subject::values() const {
  std::vector<NodeId> all(match_.inputs.begin(), match_.inputs.end());
  all.insert(all.end(), match_.inside.begin(), match_.inside.end());
  std::erase_if(all, [&](NodeId id) { return !is_tensor(id); });
  return all;
}

std::optional<Refusal> Subject::size_refusal_of(NodeId id) const {
  const Type& type = f_.type(id);
  for (const Dim& d : type.shape()) {
    if (d.is_unknown()) return Refusal{fmt::format("a size of {} is not known", to_string(type))};
    if (d == Dim(0)) return Refusal{"a tensor is empty"};
  }
  if (type.rank() <= 6) return std::nullopt;
  return Refusal{fmt::format("rank {} is above 6", type.rank())};
}

std::optional<Refusal> Subject::size_refusal() const {
  for (const NodeId id : values()) {
    if (auto why = size_refusal_of(id)) return why;
  }
  return std::nullopt;
}

std::optional<Refusal> Subject::refusal() const {
  if (auto why = size_refusal()) return why;
  const DType result = dtype(match_.root);
  if (result != kFloat32 && result != kBFloat16 && result != kFloat16) {
    return Refusal{fmt::format("data type {} is no float of 32 or 16 bits", to_string(result))};
  }
  for (const NodeId id : values()) {
    if (dtype(id) == result) continue;
    return Refusal{fmt::format("data types {} and {} are in one kernel", to_string(dtype(id)),
                               to_string(result))};
  }
  return std::nullopt;
}

}  // namespace tessera::backends::onednn
