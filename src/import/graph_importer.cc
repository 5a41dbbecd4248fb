// SPDX-License-Identifier: Apache-2.0
#include "import/graph_importer.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/converters.h"
#include "import/narrow.h"
#include "import/needed_elements.h"
#include "module/symbol_names.h"

namespace tessera::import {

namespace {

// What is known of symbols, from what is said about the file's names.
SymbolTable by_symbol(const SymbolTable& ranges, const DimNames& names) {
  SymbolTable table;
  for (const auto& [name, range] : ranges) {
    if (!names.contains(name)) continue;  // told when they are bound
    const std::vector<std::string> symbols = names.size_of(name).symbols();
    if (symbols.size() != 1 || !(names.size_of(name) == Dim::symbol(symbols[0]))) continue;
    table[symbols[0]] = range;
    table[symbols[0]].name = symbols[0];
  }
  return table;
}

// What only moves elements of its first operand.
bool moves_elements(const std::string& name) {
  static constexpr std::string_view kMovers[] = {"Flatten", "Identity",  "Reshape",
                                                 "Squeeze", "Transpose", "Unsqueeze"};
  return std::find(std::begin(kMovers), std::end(kMovers), name) != std::end(kMovers);
}

// Others would take them for bytes: what they give would have other bounds.
void check_narrow_operands(const Node& node) {
  const std::string name = qualified_name(node.proto());
  static constexpr std::string_view kKnowing[] = {"Cast", "CastLike", "DequantizeLinear",
                                                  "QuantizeLinear"};
  if (std::find(std::begin(kKnowing), std::end(kKnowing), name) != std::end(kKnowing)) return;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.is_narrow(i) || (i == 0 && moves_elements(name))) continue;
    const bool is_gathered =
        name == "com.microsoft.GatherBlockQuantized" && !is_narrow_float(node.narrow_type(i));
    if (!is_gathered) {
      node.unsupported(
          fmt::format("an operand of the data type {}", onnx_dtype_name(node.narrow_type(i))));
    }
  }
}

bool is_stated(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

// False only where a stated number is not the computed one.
bool agrees(const onnx::TensorShapeProto& declared, const Shape& shape) {
  if (declared.dim_size() != static_cast<int>(shape.size())) return false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto& dim = declared.dim(static_cast<int>(d));
    const auto known = shape[d].as_constant();
    if (is_stated(dim) && known && *known != dim.dim_value()) return false;
  }
  return true;
}

}  // namespace

GraphImporter::GraphImporter(const OnnxModel& model, const ImportOptions& options)
    : model_(model),
      options_(options),
      dim_names_(model.proto().graph()),
      ranges_(by_symbol(options.ranges, dim_names_)),
      builder_(ranges_) {
  main_.opset = model.opset();
  main_.other_opsets = other_opsets(model.proto().opset_import());
}

Result<Module> GraphImporter::run() {
  import_initializers(model_.proto().graph());
  builder_.set_limits(limits_for(model_.size_bytes(), options_.limits));
  import_inputs();
  import_kept_weights();
  import_symbols();
  read_declarations();
  import_nodes(model_.proto().graph().node());
  std::vector<relay::AttrValue> names;
  if (gave_up_) return fail(std::move(errors_));
  const NodeId result = import_outputs(names);
  if (!errors_.empty()) return fail(std::move(errors_));
  Module module;
  module.functions = builder_.take_globals();
  Attrs attrs;
  attrs.set("output_names", relay::AttrArray(names.begin(), names.end()));
  if (!dim_names_.renamed().empty()) {
    attrs.set("symbol_names", symbol_names_attr(dim_names_.renamed()));
  }
  module.functions["main"] = builder_.finish(result, std::move(attrs));
  module.kept_weights = builder_.kept_weights();
  module.constants = builder_.take_constants();
  module.symbols = std::move(symbols_);
  for (const auto& [name, f] : module.functions) {
    for (const std::string& needed : needed_sizes(f)) {
      if (const auto it = module.symbols.find(needed); it != module.symbols.end())
        it->second.min = 1;
    }
  }
  module.warnings = builder_.take_warnings();
  return module;
}

void GraphImporter::import_nodes(const Nodes& nodes) {
  for (const auto& node : nodes) {
    if (!gave_up_) import_node(node);
  }
}

void GraphImporter::import_node(const onnx::NodeProto& node) {
  const Location at = location_of(node);
  const std::size_t record = nodes_.size();
  nodes_.push_back({std::get<ModelNode>(at->place).node, node.op_type(), domain_name(node.domain()),
                    scope_->opset_of(node.domain())});
  std::vector<NodeId> outputs;
  const std::size_t depth = builder_.depth();
  try {
    builder_.at(at);
    builder_.count_node();
    // Unknown operators are reported even after a failed node: the list is complete.
    if (!is_known(node)) {
      report_unknown(node, at);
    } else if (check_inputs(node)) {
      outputs = convert(node);
    } else {
      nodes_[record].looked_at = false;
      check_attributes(node);
      look_into_bodies(node);
    }
  } catch (NodeError& e) {
    builder_.leave_functions(depth);
    gave_up_ |= e.diagnostic.code == Code::kLimitExceeded;
    // The error is of the operators' own checks, which know nothing of models.
    if (e.diagnostic.remedy.empty()) e.diagnostic.remedy = std::string(kCorrectModel);
    errors_.add(std::move(e.diagnostic));
  }
  builder_.at(at);
  define_outputs(node, outputs);
}

void GraphImporter::report_unknown(const onnx::NodeProto& node, const Location& at) {
  const std::string_view why = refusal_reason(qualified_name(node));
  errors_.add(error(Code::kUnsupportedOnnxNode, at, "operator `{}` of {} is not supported{}{}",
                    node.op_type(), scope_->domain_text(node.domain()), why.empty() ? "" : ": ",
                    why)
                  .with_remedy("export the model without this operator"));
}

bool GraphImporter::is_known(const onnx::NodeProto& node) const {
  return model_.function(node) != nullptr || is_supported(qualified_name(node), scope_->opset);
}

// A missing value is reported once; nodes after a failed one are passed over.
bool GraphImporter::check_inputs(const onnx::NodeProto& node) {
  bool ok = true;
  for (const std::string& name : node.input()) {
    if (name.empty() || scope_->find(name) != nullptr) continue;
    if (scope_->find_sequence(name) != nullptr) continue;
    ok = false;
    if (scope_->has_failed(name)) continue;
    scope_->failed.insert(name);
    if (report_strings(name, location_of(node))) continue;
    errors_.add(error(Code::kBadOnnxGraph, location_of(node),
                      "value `{}` is used before it is defined: the nodes are cyclic or not sorted",
                      name)
                    .with_remedy("run onnx.checker on the model, and sort its nodes"));
  }
  return ok;
}

bool GraphImporter::report_strings(const std::string& name, const Location& at) {
  const std::string* op = scope_->strings_of(name);
  if (op == nullptr) return false;
  errors_.add(error(Code::kUnsupportedOnnxNode, at,
                    "value `{}` of `{}` is of strings, which are not supported", name, *op)
                  .with_remedy("train the model with classes that are integers, or extract it "
                               "without this value (onnx.utils.extract_model): the scores do not "
                               "depend on it"));
  return true;
}

std::vector<NodeId> GraphImporter::convert(const onnx::NodeProto& node) {
  Node operation(builder_, *scope_, model_, node, location_of(node));
  if (const onnx::FunctionProto* f = model_.function(node)) return convert_call(operation, *f);
  check_narrow_operands(operation);
  if (is_default_domain(node.domain())) {
    if (node.op_type() == "If") return import_if(node);
    if (node.op_type() == "Loop") return import_loop(node);
    if (node.op_type() == "Scan") return import_scan(node);
    if (node.op_type() == "SequenceMap") return import_sequence_map(node);
  }
  return convert_operator(operation);
}

bool GraphImporter::has_operator(const onnx::NodeProto& node) const {
  const std::string name = qualified_name(node);
  return (model_.function(node) == nullptr || is_vendors(node)) &&
         (find_converter(name, scope_->opset) != nullptr || find_direct_operator(name) != nullptr);
}

// Exporters write functions of a vendor's names, for runtimes that lack the operator: those are
// what to fall back on, as ONNX says. Functions of ONNX's own names are the model's.
bool GraphImporter::is_vendors(const onnx::NodeProto& node) const {
  return !is_default_domain(node.domain()) &&
         find_converter(qualified_name(node), scope_->opset) != nullptr;
}

std::vector<NodeId> GraphImporter::convert_call(Node& node, const onnx::FunctionProto& f) {
  if (!is_vendors(node.proto())) return inline_function(node.proto(), f);
  const std::size_t depth = builder_.depth();
  try {
    check_narrow_operands(node);
    return convert_operator(node);
  } catch (const NodeError& e) {
    if (e.diagnostic.code != Code::kUnsupportedOnnxNode) throw;
    builder_.leave_functions(depth);
    return inline_function(node.proto(), f);
  }
}

std::vector<NodeId> GraphImporter::convert_operator(Node& node) {
  const std::string name = qualified_name(node.proto());
  std::vector<NodeId> outputs;
  if (const Converter* converter = find_converter(name, scope_->opset)) {
    outputs = converter->convert(node);
  } else {
    outputs = {node.call(find_direct_operator(name)->name, node.inputs())};
  }
  if (node.is_narrow(0) && moves_elements(name)) node.set_narrow_output(0, node.narrow_type(0));
  node.check_all_was_read();
  for (std::size_t i = outputs.size(); i < node.num_outputs(); ++i) {
    if (node.uses_output(i)) node.unsupported(fmt::format("the use of its output {}", i));
  }
  for (const auto& [i, type] : node.narrow_outputs()) {
    if (node.uses_output(i)) scope_->narrow[node.proto().output(static_cast<int>(i))] = type;
  }
  define_sequences(node.proto(), node.sequence_outputs());
  return outputs;
}

// A node that uses what a failed one was to give cannot be converted. This tells what is wrong with
// its attributes whatever that is. The converter is tried on stand-ins until it takes one; what is
// built of them is never used.
void GraphImporter::check_attributes(const onnx::NodeProto& node) {
  if (node.attribute_size() == 0 || !has_operator(node)) return;
  std::optional<Diagnostic> finding;
  builder_.at(location_of(node));
  const Scope* outer = scope_;
  for (const DType dtype : {kFloat32, kInt64, kBool}) {
    for (const int rank : {4, 3, 2, 1, 0, 5}) {
      Scope scope = outer->inner("");
      scope.place = outer->place;
      scope.outer = outer;
      for (const std::string& name : node.input()) {
        if (name.empty() || outer->find(name) != nullptr) continue;
        const NodeId stand_in =
            builder_.param(name, tensor_type(Shape(static_cast<std::size_t>(rank), Dim(8)), dtype));
        scope.values.emplace(name, stand_in);
      }
      Node tried(builder_, scope, model_, node, location_of(node));
      try {
        convert_operator(tried);
        return;
      } catch (NodeError& e) {
        if (e.diagnostic.code == Code::kLimitExceeded) return;
        if (e.is_of_attributes && !finding) finding = std::move(e.diagnostic);
      }
    }
  }
  if (finding) errors_.add(std::move(*finding));
}

// What a failed node was to define has its declared type, if there is one, so that the nodes after
// it are looked at too; the function that is built then is never used.
void GraphImporter::define_outputs(const onnx::NodeProto& node,
                                   const std::vector<NodeId>& outputs) {
  const Location at = location_of(node);
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty() || scope_->sequences.contains(name)) continue;
    if (static_cast<std::size_t>(i) < outputs.size()) {
      if (!outputs[static_cast<std::size_t>(i)]) {
        scope_->strings.emplace(name, node.op_type());
        continue;
      }
      define(name, outputs[static_cast<std::size_t>(i)], at);
    } else if (const Type* type = scope_->declared_type(name)) {
      define(name, builder_.param(name, *type), at);
    } else {
      scope_->failed.insert(name);
    }
  }
}

void GraphImporter::define(const std::string& name, NodeId id, const Location& at) {
  if (!scope_->values.emplace(name, id).second) {
    errors_.add(error(Code::kBadOnnxGraph, at, "value `{}` is defined twice", name)
                    .with_remedy("run onnx.checker on the model"));
  }
}

NodeId GraphImporter::import_outputs(std::vector<relay::AttrValue>& names) {
  std::vector<NodeId> results;
  const bool sound = errors_.empty();
  for (const auto& output : model_.proto().graph().output()) {
    const NodeId* value = main_.find(output.name());
    if (value == nullptr) {
      const Location at = model_node_location(model_.path(), output.name());
      if (main_.find_sequence(output.name()) != nullptr) {
        errors_.add(error(Code::kUnsupportedOnnxNode, at,
                          "output `{}` is a sequence, which is not supported", output.name())
                        .with_remedy("give its tensors as outputs of the model"));
        continue;
      }
      if (!main_.has_failed(output.name()) && !report_strings(output.name(), at)) {
        errors_.add(error(Code::kBadOnnxGraph, at, "output `{}` is not defined", output.name())
                        .with_remedy("run onnx.checker on the model"));
      }
      continue;
    }
    if (sound) check_declaration(output, builder_.type(*value));
    results.push_back(*value);
    names.emplace_back(output.name());
  }
  if (results.empty() && errors_.empty()) {
    errors_.add(error(Code::kBadOnnxGraph, {}, "`{}` has no outputs", model_.path())
                    .with_remedy("name at least one output in the model"));
  }
  return results.size() == 1 ? results[0] : builder_.tuple(results);
}

// What the model says of an output. Sizes without a number say nothing, and wrong ones do no harm:
// what is computed counts. Whether callers rely on a wrong data type nobody knows.
void GraphImporter::check_declaration(const onnx::ValueInfoProto& output, const Type& type) {
  const auto& declared = output.type().tensor_type();
  if (!output.type().has_tensor_type() || !type.is_tensor()) return;
  const Location at = model_node_location(model_.path(), output.name());
  const int number = declared.elem_type();
  const int narrow = main_.narrow_type(output.name());
  const bool has_type = narrow != 0 ? number == narrow
                                    : !is_narrow_type(number) && onnx_dtype(number) == type.dtype();
  if (number != onnx::TensorProto::UNDEFINED && !has_type) {
    errors_.add(error(Code::kDtypeMismatch, at,
                      "output `{}` is declared as {}; the graph computes {}", output.name(),
                      onnx_dtype_name(number), to_string(type))
                    .with_remedy("correct the output's declaration in the model, or the nodes that "
                                 "compute it"));
    return;
  }
  if (!declared.has_shape() || agrees(declared.shape(), type.shape())) return;
  std::vector<std::string> sizes;
  for (const auto& dim : declared.shape().dim()) {
    sizes.push_back(is_stated(dim) ? std::to_string(dim.dim_value()) : "?");
  }
  builder_.warn(warning(Code::kShapeMismatch, at,
                        "output `{}` is declared with the shape ({}); the graph computes {}, which "
                        "counts",
                        output.name(), fmt::join(sizes, ", "), to_string(type))
                    .with_remedy("correct the output's declaration in the model"));
}

Location GraphImporter::location_of(const onnx::NodeProto& node) const {
  const std::string name =
      !node.name().empty()
          ? node.name()
          : fmt::format("{} -> {}", node.op_type(), node.output_size() > 0 ? node.output(0) : "");
  return model_node_location(model_.path(), scope_->place + name);
}

}  // namespace tessera::import
