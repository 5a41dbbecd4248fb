// SPDX-License-Identifier: Apache-2.0
#include "import/graph_importer.h"

#include <fmt/format.h>

#include "import/converters.h"

namespace tessera::import {

GraphImporter::GraphImporter(const OnnxModel& model, const ImportOptions& options)
    : model_(model), options_(options), builder_(options.ranges) {
  main_.opset = model.opset();
}

Result<Module> GraphImporter::run() {
  import_initializers(model_.proto().graph());
  import_inputs();
  import_symbols();
  read_declarations();
  import_nodes(model_.proto().graph().node());
  std::vector<relay::AttrValue> names;
  const NodeId result = import_outputs(names);
  if (!errors_.empty()) return fail(std::move(errors_));
  Module module;
  module.functions = std::move(loops_);
  Attrs attrs;
  attrs.set("output_names", relay::AttrArray(names.begin(), names.end()));
  module.functions["main"] = builder_.finish(result, std::move(attrs));
  module.constants = builder_.take_constants();
  module.symbols = std::move(symbols_);
  return module;
}

void GraphImporter::import_nodes(const Nodes& nodes) {
  for (const auto& node : nodes) import_node(node);
}

void GraphImporter::import_node(const onnx::NodeProto& node) {
  const Location at = location_of(node);
  std::vector<NodeId> outputs;
  // Unknown operators are reported even behind a failed node: the list is complete.
  if (!is_known(node)) {
    report_unknown(node, at);
  } else if (check_inputs(node)) {
    const std::size_t depth = builder_.depth();
    try {
      builder_.at(at);
      outputs = convert(node);
    } catch (NodeError& e) {
      builder_.leave_functions(depth);
      // Of the operators' own checks, which know nothing of models.
      if (e.diagnostic.remedy.empty()) e.diagnostic.remedy = std::string(kCorrectModel);
      errors_.add(std::move(e.diagnostic));
    }
  }
  builder_.at(at);
  define_outputs(node, outputs);
}

void GraphImporter::report_unknown(const onnx::NodeProto& node, const Location& at) {
  const std::string_view why = refusal_reason(qualified_name(node));
  errors_.add(error(Code::kUnsupportedOnnxNode, at,
                    "operator `{}` of {} opset {} is not supported{}{}", node.op_type(),
                    is_default_domain(node.domain()) ? "ai.onnx" : node.domain(), scope_->opset,
                    why.empty() ? "" : ": ", why)
                  .with_remedy("export the model without this operator"));
}

bool GraphImporter::is_known(const onnx::NodeProto& node) const {
  if (model_.function(node) != nullptr) return true;
  const std::string name = qualified_name(node);
  return name == "If" || name == "Loop" || name == "Scan" ||
         find_converter(name, scope_->opset) != nullptr || find_direct_operator(name) != nullptr;
}

// A missing value is reported once; nodes behind a failed one are passed over.
bool GraphImporter::check_inputs(const onnx::NodeProto& node) {
  bool ok = true;
  for (const std::string& name : node.input()) {
    if (name.empty() || scope_->find(name) != nullptr) continue;
    ok = false;
    if (scope_->has_failed(name)) continue;
    scope_->failed.insert(name);
    errors_.add(error(Code::kBadOnnxGraph, location_of(node),
                      "value `{}` is used before it is defined: the nodes are cyclic or not sorted",
                      name)
                    .with_remedy("run onnx.checker on the model, and sort its nodes"));
  }
  return ok;
}

std::vector<NodeId> GraphImporter::convert(const onnx::NodeProto& node) {
  if (const onnx::FunctionProto* f = model_.function(node)) return inline_function(node, *f);
  if (is_default_domain(node.domain())) {
    if (node.op_type() == "If") return import_if(node);
    if (node.op_type() == "Loop") return import_loop(node);
    if (node.op_type() == "Scan") return import_scan(node);
  }
  return convert_operator(node);
}

std::vector<NodeId> GraphImporter::convert_operator(const onnx::NodeProto& proto) {
  Node node(builder_, *scope_, model_, proto, location_of(proto));
  std::vector<NodeId> outputs;
  if (const Converter* converter = find_converter(qualified_name(proto), scope_->opset)) {
    outputs = converter->convert(node);
  } else {
    outputs = {node.call(find_direct_operator(qualified_name(proto))->name, node.inputs())};
  }
  node.check_all_was_read();
  for (std::size_t i = outputs.size(); i < node.num_outputs(); ++i) {
    if (node.uses_output(i)) node.unsupported(fmt::format("the use of its output {}", i));
  }
  return outputs;
}

// What a failed node was to define has its declared type, if there is one, so that the nodes behind
// it are looked at too; the function that is built then is never used.
void GraphImporter::define_outputs(const onnx::NodeProto& node,
                                   const std::vector<NodeId>& outputs) {
  const Location at = location_of(node);
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    if (static_cast<std::size_t>(i) < outputs.size()) {
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
  for (const auto& output : model_.proto().graph().output()) {
    const NodeId* value = main_.find(output.name());
    if (value == nullptr) {
      if (!main_.has_failed(output.name())) {
        errors_.add(error(Code::kBadOnnxGraph, model_node_location(model_.path(), output.name()),
                          "output `{}` is not defined", output.name())
                        .with_remedy("run onnx.checker on the model"));
      }
      continue;
    }
    results.push_back(*value);
    names.emplace_back(output.name());
  }
  if (results.empty() && errors_.empty()) {
    errors_.add(error(Code::kBadOnnxGraph, {}, "`{}` has no outputs", model_.path())
                    .with_remedy("name at least one output in the model"));
  }
  return results.size() == 1 ? results[0] : builder_.tuple(results);
}

Location GraphImporter::location_of(const onnx::NodeProto& node) const {
  const std::string name =
      !node.name().empty()
          ? node.name()
          : fmt::format("{} -> {}", node.op_type(), node.output_size() > 0 ? node.output(0) : "");
  return model_node_location(model_.path(), scope_->place + name);
}

}  // namespace tessera::import
