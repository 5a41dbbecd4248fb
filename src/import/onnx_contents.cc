// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_contents.h"

#include <filesystem>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/converters.h"
#include "import/scope.h"

namespace tessera::import {
namespace {

std::string size_text(const onnx::TensorShapeProto::Dimension& dim) {
  if (dim.has_dim_value()) return std::to_string(dim.dim_value());
  return "?" + dim.dim_param();
}

std::string type_text(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return "sequence of " + type_text(type.sequence_type().elem_type());
  if (type.has_optional_type()) return "optional " + type_text(type.optional_type().elem_type());
  if (type.has_map_type()) return "map";
  if (!type.has_tensor_type()) return type.has_sparse_tensor_type() ? "sparse tensor" : "unknown";
  const auto& tensor = type.tensor_type();
  const std::string dtype = onnx_dtype_name(tensor.elem_type());
  if (!tensor.has_shape()) return fmt::format("Tensor[unknown rank, {}]", dtype);
  std::vector<std::string> sizes;
  for (const auto& dim : tensor.shape().dim()) sizes.push_back(size_text(dim));
  return fmt::format("Tensor[({}), {}]", fmt::join(sizes, ", "), dtype);
}

class Counter {
 public:
  explicit Counter(const OnnxModel& model) : model_(model) {}

  void count(const onnx::GraphProto& graph, const Scope& scope) {
    for (const auto& t : graph.initializer()) add_file(t);
    count(graph.node(), scope);
  }

  template <class Nodes>
  void count(const Nodes& nodes, const Scope& scope) {
    for (const onnx::NodeProto& node : nodes) {
      add(node, scope);
      for (const auto& a : node.attribute()) {
        if (a.has_g()) count(a.g(), scope);
        for (const auto& g : a.graphs()) count(g, scope);
        if (a.has_t()) add_file(a.t());
      }
    }
  }

  const std::set<std::string>& data_files() const { return files_; }

  std::vector<OperatorUse> operators() const {
    std::vector<OperatorUse> list;
    for (const auto& [key, use] : uses_) list.push_back(use);
    return list;
  }

 private:
  void add(const onnx::NodeProto& node, const Scope& scope) {
    const std::string domain = domain_name(node.domain());
    OperatorUse& use = uses_[{domain, node.op_type(), scope.opset_of(node.domain())}];
    if (use.count++ > 0) return;
    const std::string name = qualified_name(node);
    use = {domain, node.op_type(), scope.opset_of(node.domain()), 1, true, ""};
    use.is_known = model_.function(node) != nullptr || is_supported(name, scope.opset);
    if (!use.is_known) use.why = refusal_reason(name);
  }

  void add_file(const onnx::TensorProto& t) {
    if (t.data_location() != onnx::TensorProto::EXTERNAL) return;
    const std::filesystem::path folder = std::filesystem::path(model_.path()).parent_path();
    for (const auto& entry : t.external_data()) {
      if (entry.key() == "location") files_.insert((folder / entry.value()).string());
    }
  }

  const OnnxModel& model_;
  std::map<std::tuple<std::string, std::string, int>, OperatorUse> uses_;
  std::set<std::string> files_;
};

template <class Imports>
Scope scope_of(const Imports& imports) {
  Scope scope;
  scope.opset = default_opset(imports);
  scope.other_opsets = other_opsets(imports);
  return scope;
}

}  // namespace

Result<OnnxContents> onnx_contents(const std::string& path) {
  TESSERA_TRY(const OnnxModel model, OnnxModel::read(path));
  const onnx::GraphProto& graph = model.proto().graph();
  OnnxContents contents;
  std::set<std::string> weights;  // before IR version 4 they are inputs as well
  for (const auto& t : graph.initializer()) weights.insert(t.name());
  for (const auto& value : graph.input()) {
    if (weights.contains(value.name())) continue;
    contents.inputs.push_back({value.name(), type_text(value.type())});
  }
  for (const auto& value : graph.output()) {
    contents.outputs.push_back({value.name(), type_text(value.type())});
  }
  for (const auto& import : model.proto().opset_import()) {
    contents.opsets[domain_name(import.domain())] = static_cast<int>(import.version());
  }
  Counter counter(model);
  counter.count(graph, scope_of(model.proto().opset_import()));
  for (const auto& f : model.proto().functions())
    counter.count(f.node(), scope_of(f.opset_import()));
  contents.operators = counter.operators();
  contents.data_files = counter.data_files();
  return contents;
}

}  // namespace tessera::import
