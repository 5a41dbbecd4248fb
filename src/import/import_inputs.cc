// SPDX-License-Identifier: Apache-2.0
// What a graph begins with: sizes, weights, inputs, and what it says about its values.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "import/graph_importer.h"
#include "import/narrow.h"
#include "ops/inference/infer.h"

namespace tessera::import {
namespace {

// The size of a dimension that is a number or was made one, else nothing.
std::optional<std::int64_t> known_size(const onnx::TensorShapeProto::Dimension& dim,
                                       const ImportOptions& options) {
  if (dim.has_dim_value()) return dim.dim_value();
  const auto it = options.sizes.find(dim.dim_param());
  return it == options.sizes.end() ? std::nullopt : std::optional(it->second);
}

// A complete type, or nothing.
Type declared_type(const onnx::ValueInfoProto& value, const ImportOptions& options) {
  const auto& tensor = value.type().tensor_type();
  const auto dtype = stored_dtype(tensor.elem_type());
  if (!value.type().has_tensor_type() || !dtype || !tensor.has_shape()) return {};
  Shape shape;
  for (const auto& dim : tensor.shape().dim()) {
    const auto size = known_size(dim, options);
    if (!size || *size < 0) return {};
    shape.emplace_back(*size);
  }
  return tensor_type(std::move(shape), *dtype);
}

// What callers of the library see of a narrow type.
Diagnostic of_bytes(const Location& at, std::string_view what, const onnx::ValueInfoProto& value) {
  const int type = value.type().tensor_type().elem_type();
  return warning(Code::kUnsupportedOnnxNode, at,
                 "{} `{}` of the data type {} is one of bytes, an element each: {}", what,
                 value.name(), onnx_dtype_name(type),
                 is_narrow_float(type) ? "the code of a float" : "the value of an integer")
      .with_remedy(
          "cast it to a type of eight bits or more in the model, if callers are to have "
          "one");
}

bool keeps_shape(const onnx::NodeProto& node) {
  static constexpr std::string_view kKeeping[] = {"Cast", "CastLike", "Exp",  "Identity",
                                                  "Log",  "Neg",      "Sqrt", "Relu"};
  return is_default_domain(node.domain()) && node.input_size() > 0 &&
         std::find(std::begin(kKeeping), std::end(kKeeping), node.op_type()) != std::end(kKeeping);
}

}  // namespace

// A size for a symbol that the model does not have is most likely a slip.
void GraphImporter::import_symbols() {
  for (const auto& [name, size] : options_.sizes) {
    if (!dim_names_.contains(name)) {
      errors_.add(error(Code::kBadOption, {},
                        "--dim {}={}: the model has no symbolic dimension `{}`", name, size, name)
                      .with_remedy("`tessera inspect` lists the model's inputs"));
    }
  }
}

void GraphImporter::import_initializers(const onnx::GraphProto& graph) {
  const bool is_main = &graph == &model_.proto().graph();
  for (const auto& t : graph.initializer()) {
    if (is_main && is_kept(t) && kept_names_.insert(t.name()).second) {
      kept_.push_back(&t);
      continue;
    }
    const Location at = model_node_location(model_.path(), t.name());
    Result<Tensor> tensor = model_.tensor(t, at);
    if (!tensor) {
      errors_.add(std::move(tensor).error());
      scope_->failed.insert(t.name());
      continue;
    }
    builder_.at(at);
    if (is_narrow_type(t.data_type())) scope_->narrow[t.name()] = t.data_type();
    define(t.name(), builder_.constant(std::move(*tensor)), at);
  }
  for (const auto& t : graph.sparse_initializer()) {
    scope_->failed.insert(t.values().name());
    errors_.add(error(Code::kUnsupportedOnnxNode,
                      model_node_location(model_.path(), t.values().name()),
                      "initializer `{}` is sparse, which is not supported", t.values().name())
                    .with_remedy("save it as a dense tensor"));
  }
}

void GraphImporter::import_inputs() {
  std::set<std::string> names;
  for (const auto& input : model_.proto().graph().input()) {
    if (!names.insert(input.name()).second) {
      errors_.add(error(Code::kBadOnnxGraph, model_node_location(model_.path(), input.name()),
                        "input `{}` is declared twice", input.name())
                      .with_remedy("give each input of the model a name of its own"));
      continue;
    }
    // Before IR version 4 initializers had to be inputs as well.
    if (main_.values.contains(input.name()) || main_.failed.contains(input.name())) continue;
    if (kept_names_.contains(input.name())) continue;
    import_input(input);
  }
}

bool GraphImporter::is_kept(const onnx::TensorProto& t) const {
  if (options_.kept.names.contains(t.name())) return true;
  const auto dtype = onnx_dtype(t.data_type());
  const bool is_one =
      std::all_of(t.dims().begin(), t.dims().end(), [](std::int64_t n) { return n == 1; });
  return options_.kept.all && dtype && dtype->is_float() && !is_one;
}

void GraphImporter::import_kept_weights() {
  for (const onnx::TensorProto* t : kept_) {
    const Location at = model_node_location(model_.path(), t->name());
    Result<Tensor> tensor = model_.tensor(*t, at);
    if (!tensor) {
      errors_.add(std::move(tensor).error());
      scope_->failed.insert(t->name());
      continue;
    }
    builder_.at(at);
    if (is_narrow_type(t->data_type())) scope_->narrow[t->name()] = t->data_type();
    const bool named = options_.kept.names.contains(t->name());
    define(t->name(), builder_.kept_weight(t->name(), *std::move(tensor), !named), at);
  }
  for (const std::string& name : options_.kept.names) {
    if (kept_names_.contains(name)) continue;
    errors_.add(error(Code::kBadOption, {},
                      "--keep-weights {}: the model's graph has no initializer `{}`", name, name)
                    .with_remedy("give names of initializers, as a viewer of models shows them, "
                                 "or `all`"));
  }
}

void GraphImporter::import_input(const onnx::ValueInfoProto& value) {
  const Location at = model_node_location(model_.path(), value.name());
  const auto& tensor = value.type().tensor_type();
  const auto dtype = stored_dtype(tensor.elem_type());
  if (!value.type().has_tensor_type() || !dtype || !tensor.has_shape()) {
    main_.failed.insert(value.name());
    const std::string what = value.type().has_sequence_type()   ? "a sequence"
                             : value.type().has_optional_type() ? "optional"
                             : !value.type().has_tensor_type()  ? "no tensor"
                             : !dtype ? "of the data type " + onnx_dtype_name(tensor.elem_type())
                                      : "of unknown rank";
    errors_.add(
        error(Code::kUnsupportedOnnxNode, at, "input `{}` is {}, which is not supported",
              value.name(), what)
            .with_remedy("export the model with tensors of numbers and known rank as inputs"));
    return;
  }
  if (tensor.shape().dim_size() > kMostDimensions) {
    main_.failed.insert(value.name());
    errors_.add(error(Code::kBadDimension, at, "input `{}` has {} dimensions; {} are the most",
                      value.name(), tensor.shape().dim_size(), kMostDimensions)
                    .with_remedy("check how the model was made"));
    return;
  }
  Shape shape;
  std::int64_t bytes = dtype->size_bytes();
  bool fits = true;
  for (const auto& dim : tensor.shape().dim()) {
    shape.push_back(import_dim(dim, value.name()));
    if (shape.back().is_unknown()) {
      shape.back() = fresh_symbol(fmt::format("{}_{}", value.name(), shape.size() - 1));
    }
    if (const auto n = shape.back().as_constant())
      fits &= !__builtin_mul_overflow(bytes, *n, &bytes);
  }
  if (!fits) {
    errors_.add(error(Code::kBadDimension, at, "the size of input `{}`, {}, overflows 64 bits",
                      value.name(), to_string(shape))
                    .with_remedy("check the sizes in the model and those given with --dim"));
  }
  builder_.at(at);
  if (is_narrow_type(tensor.elem_type())) {
    main_.narrow[value.name()] = tensor.elem_type();
    builder_.warn(of_bytes(at, "input", value));
  }
  define(value.name(), builder_.param(value.name(), tensor_type(std::move(shape), *dtype)), at);
}

// The symbol of a dimension that the model gives no name; nothing is known of it: it may be 0.
Dim GraphImporter::fresh_symbol(const std::string& hint) {
  const std::string name = dim_names_.fresh_symbol(hint);
  symbols_[name] = {name, 0, -1, 1, std::nullopt};
  return Dim::symbol(name);
}

Dim GraphImporter::import_dim(const onnx::TensorShapeProto::Dimension& dim,
                              const std::string& input) {
  if (const auto size = known_size(dim, options_)) {
    if (*size >= 0) return Dim(*size);
    errors_.add(error(Code::kBadDimension, model_node_location(model_.path(), input),
                      "input `{}` has the negative size {}", input, *size)
                    .with_remedy("give the dimension a name in the model and its size with --dim"));
    return Dim(0);
  }
  if (dim.dim_param().empty()) return Dim::unknown();
  std::map<std::string, Dim> numbers;  // an expression's operands are names of the file
  for (const auto& [name, size] : options_.sizes) numbers.emplace(name, Dim(size));
  const Dim size = dim_names_.size_of(dim.dim_param()).substitute(numbers);
  for (const std::string& s : size.symbols()) symbols_[s] = {s, 0, -1, 1, std::nullopt};
  return size;
}

// The shapes that the model states: they settle what run-time operands alone do not (a Reshape to
// a shape that is an input).
void GraphImporter::read_declarations() {
  const auto& graph = model_.proto().graph();
  for (const auto* values : {&graph.value_info(), &graph.output()}) {
    for (const auto& value : *values) {
      if (const Type type = declared_type(value, options_)) {
        main_.declared.emplace(value.name(), type);
        main_.implied.emplace(value.name(), type.shape());
      }
    }
  }
  for (const auto& output : graph.output()) {
    if (!is_narrow_type(output.type().tensor_type().elem_type())) continue;
    builder_.warn(of_bytes(model_node_location(model_.path(), output.name()), "output", output));
  }
  // Backwards through what keeps the shape of its operand.
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.output_size() == 0 || !keeps_shape(node)) continue;
    if (const auto it = main_.implied.find(node.output(0)); it != main_.implied.end()) {
      main_.implied.emplace(node.input(0), it->second);
    }
  }
}

}  // namespace tessera::import
