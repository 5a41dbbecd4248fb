// SPDX-License-Identifier: Apache-2.0
#include "import/graph_importer.h"

#include <fmt/format.h>

#include "import/converters.h"

namespace tessera::import {
namespace {

// Folding makes constants of at most this size, or of what the operands have: the arithmetic of shapes and
// small tables, not a second copy of every weight.
constexpr std::int64_t kFoldedBytes = 1 << 16;

std::string node_name(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return fmt::format("{} -> {}", node.op_type(), node.output_size() > 0 ? node.output(0) : "");
}

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

}  // namespace

GraphImporter::GraphImporter(const OnnxModel& model, const ImportOptions& options)
    : model_(model), options_(options), symbols_(options.ranges) {}

Result<Module> GraphImporter::run() {
  import_initializers();
  import_inputs();
  import_symbols();
  import_nodes();
  std::vector<relay::AttrValue> names;
  const NodeId result = import_outputs(names);
  if (!errors_.empty()) return fail(std::move(errors_));
  Module module;
  Attrs attrs;
  attrs.set("output_names", relay::AttrArray(names.begin(), names.end()));
  module.functions["main"] = builder_.finish(result, std::move(attrs));
  module.constants = std::move(constants_);
  module.symbols = std::move(symbols_);
  return module;
}

// A size for a symbol that the model does not have is most likely a slip.
void GraphImporter::import_symbols() {
  for (const auto& [name, size] : options_.sizes) {
    bool known = false;
    for (const auto& input : model_.proto().graph().input()) {
      for (const auto& dim : input.type().tensor_type().shape().dim()) known |= dim.dim_param() == name;
    }
    if (!known) {
      errors_.add(error(Code::kBadOption, {}, "--dim {}={}: the model has no symbolic dimension `{}`",
                        name, size, name));
    }
  }
}

void GraphImporter::import_initializers() {
  for (const auto& t : model_.proto().graph().initializer()) {
    const Location at = model_node_location(model_.path(), t.name());
    Result<Tensor> tensor = model_.tensor(t, at);
    if (!tensor) {
      errors_.add(std::move(tensor).error());
      failed_[t.name()] = true;
      continue;
    }
    builder_.at(at);
    define(t.name(), add_constant(std::move(*tensor)), at);
  }
}

void GraphImporter::import_inputs() {
  for (const auto& input : model_.proto().graph().input()) {
    // Before IR version 4 initializers had to be inputs as well.
    if (values_.contains(input.name()) || failed_.contains(input.name())) continue;
    import_input(input);
  }
}

void GraphImporter::import_input(const onnx::ValueInfoProto& value) {
  const Location at = model_node_location(model_.path(), value.name());
  const auto& tensor = value.type().tensor_type();
  const auto dtype = onnx_dtype(tensor.elem_type());
  if (!value.type().has_tensor_type() || !dtype || !tensor.has_shape()) {
    failed_[value.name()] = true;
    errors_.add(error(Code::kUnsupportedOnnxNode, at,
                      "input `{}` is no tensor of a numeric type and known rank", value.name()));
    return;
  }
  Shape shape;
  for (const auto& dim : tensor.shape().dim()) shape.push_back(import_dim(dim, value.name()));
  const Type type = tensor_type(std::move(shape), *dtype);
  builder_.at(at);
  const NodeId id = builder_.param(value.name(), type);
  builder_.set_type(id, type);
  define(value.name(), id, at);
}

Dim GraphImporter::import_dim(const onnx::TensorShapeProto::Dimension& dim, const std::string& input) {
  if (dim.has_dim_value()) {
    if (dim.dim_value() < 0) {
      errors_.add(error(Code::kBadDimension, model_node_location(model_.path(), input),
                        "input `{}` has the size {}", input, dim.dim_value()));
      return Dim(0);
    }
    return Dim(dim.dim_value());
  }
  if (dim.dim_param().empty()) return Dim::unknown();
  if (const auto it = options_.sizes.find(dim.dim_param()); it != options_.sizes.end()) {
    return Dim(it->second);
  }
  const auto expression = parse_dim_expression("(" + dim.dim_param() + ")");
  const Dim symbol = expression ? *expression : Dim::symbol(dim.dim_param());
  for (const std::string& name : symbol.symbols()) symbols_.try_emplace(name).first->second.name = name;
  return symbol;
}

void GraphImporter::define(const std::string& name, NodeId id, const Location& at) {
  if (!values_.emplace(name, id).second) {
    errors_.add(error(Code::kBadOnnxGraph, at, "value `{}` is defined twice", name));
  }
}

void GraphImporter::import_nodes() {
  for (const auto& node : model_.proto().graph().node()) import_node(node);
}

// A missing value is reported once; nodes behind a failed one are passed over.
bool GraphImporter::check_inputs(const onnx::NodeProto& node) {
  bool ok = true;
  for (const std::string& name : node.input()) {
    if (name.empty() || values_.contains(name)) continue;
    ok = false;
    if (failed_.contains(name)) continue;
    failed_[name] = true;
    errors_.add(error(Code::kBadOnnxGraph, model_node_location(model_.path(), node_name(node)),
                      "value `{}` is used before it is defined: the nodes are cyclic or not sorted", name)
                    .with_remedy("run onnx.checker on the model"));
  }
  return ok;
}

void GraphImporter::import_node(const onnx::NodeProto& proto) {
  const Location at = model_node_location(model_.path(), node_name(proto));
  std::vector<NodeId> outputs;
  // Unknown operators are reported even behind a failed node: the list is complete.
  const bool known = (proto.domain().empty() || proto.domain() == "ai.onnx") &&
                     (find_converter(proto.op_type(), model_.opset()) != nullptr ||
                      find_direct_operator(proto.op_type()) != nullptr);
  if (!known) {
    errors_.add(error(Code::kUnsupportedOnnxNode, at, "operator `{}` of {} opset {} is not supported",
                      proto.op_type(), domain_name(proto.domain()), model_.opset()));
  } else if (check_inputs(proto)) {
    try {
      builder_.at(at);
      Node node(*this, proto, model_.opset());
      outputs = convert(proto, node);
    } catch (const NodeError& e) {
      errors_.add(e.diagnostic);
    }
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    if (static_cast<std::size_t>(i) < outputs.size()) {
      define(proto.output(i), outputs[static_cast<std::size_t>(i)], at);
    } else {
      failed_[proto.output(i)] = true;
    }
  }
}

std::vector<NodeId> GraphImporter::convert(const onnx::NodeProto& proto, Node& node) {
  std::vector<NodeId> outputs;
  if (const Converter* converter = find_converter(proto.op_type(), model_.opset())) {
    outputs = converter->convert(node);
  } else {
    outputs = {node.call(find_direct_operator(proto.op_type())->name, node.inputs())};
  }
  for (std::size_t i = outputs.size(); i < node.num_outputs(); ++i) {
    if (node.uses_output(i)) node.unsupported(fmt::format("its output {} is used, which", i));
  }
  return outputs;
}

NodeId GraphImporter::import_outputs(std::vector<relay::AttrValue>& names) {
  std::vector<NodeId> results;
  for (const auto& output : model_.proto().graph().output()) {
    const auto it = values_.find(output.name());
    if (it == values_.end()) {
      if (!failed_.contains(output.name())) {
        errors_.add(error(Code::kBadOnnxGraph, model_node_location(model_.path(), output.name()),
                          "output `{}` is not defined", output.name()));
      }
      continue;
    }
    results.push_back(it->second);
    names.emplace_back(output.name());
  }
  if (results.size() == 1) return results[0];
  return builder_.tuple(results);
}

const NodeId* GraphImporter::find_value(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

const Tensor* GraphImporter::constant_of(NodeId id) const {
  const auto* constant = builder_.peek().as<relay::Constant>(id);
  return constant == nullptr ? nullptr : &constants_.resolve(constant->value);
}

// Scalars stay immediate, for patterns and generated code; all else goes into the pool.
NodeId GraphImporter::add_constant(Tensor tensor) {
  const Type type = tensor.type();
  const NodeId id = tensor.is_scalar() ? builder_.constant(std::move(tensor))
                                       : builder_.constant(ConstantValue(constants_.add(std::move(tensor))));
  builder_.set_type(id, type);
  return id;
}

Result<Type> GraphImporter::infer(const relay::Operator& op, std::span<const NodeId> args,
                                  const Attrs& attrs, const Location& at) {
  std::vector<Type> types;
  std::vector<const Tensor*> values;
  for (const NodeId arg : args) {
    types.push_back(builder_.peek().type(arg));
    values.push_back(constant_of(arg));
  }
  return op.infer({types, values, attrs, at});
}

NodeId GraphImporter::add_call(const relay::Operator& op, std::span<const NodeId> args, Attrs attrs,
                               const Location& at) {
  if (const auto finding = op.attrs().normalize(attrs)) {
    throw NodeError{error(Code::kWrongAttribute, at, "{}: {}", op.name, *finding)};
  }
  Result<Type> type = infer(op, args, attrs, at);
  if (!type) throw NodeError{type.error().list.front()};
  if (const auto folded = fold(op, args, attrs, *type)) return *folded;
  const NodeId id = builder_.call(op, args, std::move(attrs));
  builder_.set_type(id, *type);
  return id;
}

std::optional<NodeId> GraphImporter::fold(const relay::Operator& op, std::span<const NodeId> args,
                                          const Attrs& attrs, const Type& type) {
  if (op.eval == nullptr || op.has_effect || !type.is_tensor() || is_dynamic(type)) return std::nullopt;
  std::vector<Tensor> operands;
  std::int64_t operand_bytes = 0;
  for (const NodeId arg : args) {
    const relay::Function& made = builder_.peek();
    const bool is_tuple = made.as<relay::Tuple>(arg) != nullptr;
    const auto fields = is_tuple ? made.operands(arg) : std::span<const NodeId>(&arg, 1);
    for (const NodeId field : fields) {
      const Tensor* tensor = constant_of(field);
      if (tensor == nullptr) return std::nullopt;
      operands.push_back(*tensor);
      operand_bytes += tensor->size_bytes();
    }
  }
  const auto count = num_elements(type.shape()).as_constant();
  if (!count || *count * type.dtype().size_bytes() > kFoldedBytes) return std::nullopt;
  if (operand_bytes > kFoldedBytes && op.pattern == relay::OpPattern::kOutFusable) return std::nullopt;
  return add_constant(op.eval({operands, attrs, type})[0]);
}

}  // namespace tessera::import
