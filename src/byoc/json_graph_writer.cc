// SPDX-License-Identifier: Apache-2.0
#include "byoc/json_graph_writer.h"

#include <nlohmann/json.hpp>

#include "support/check.h"

namespace tessera::byoc {

using nlohmann::json;

std::string size_text(const Dim& size) {
  TESSERA_CHECK(!size.is_unknown(), "a size without a name in a graph of a back end");
  return size.is_constant() ? std::to_string(size.constant()) : size.expression_text();
}

JsonGraphWriter::Entry JsonGraphWriter::add(Node node) {
  nodes_.push_back(std::move(node));
  return {static_cast<std::uint32_t>(nodes_.size() - 1), 0};
}

JsonGraphWriter::Entry JsonGraphWriter::input(std::string name, const Type& type) {
  return add({"input", std::move(name), {}, {}, {{type.shape(), type.dtype()}}});
}

JsonGraphWriter::Entry JsonGraphWriter::constant(std::string name,
                                                 const std::vector<std::int64_t>& shape,
                                                 DType dtype, Attributes attributes) {
  return add({"const",
              std::move(name),
              {},
              std::move(attributes),
              {{Shape(shape.begin(), shape.end()), dtype}}});
}

JsonGraphWriter::Entry JsonGraphWriter::kernel(std::string name, std::vector<Entry> inputs,
                                               Attributes attributes,
                                               const std::vector<Type>& outputs) {
  std::vector<Output> results;
  for (const Type& type : outputs) results.push_back({type.shape(), type.dtype()});
  return add(
      {"kernel", std::move(name), std::move(inputs), std::move(attributes), std::move(results)});
}

void JsonGraphWriter::set(std::uint32_t node, const std::string& attribute,
                          std::vector<std::string> texts) {
  nodes_[node].attributes[attribute] = std::move(texts);
}

std::string JsonGraphWriter::text(const std::vector<Entry>& heads) const {
  const auto entries = [](const std::vector<Entry>& list) {
    json out = json::array();
    for (const Entry& e : list) out.push_back({e.node, e.output, 0});
    return out;
  };
  json nodes = json::array(), arg_nodes = json::array(), row_ptr = json::array({0});
  std::size_t outputs = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    json attributes = json::object();
    for (const auto& [name, texts] : node.attributes) attributes[name] = json::array({texts});
    json shapes = json::array(), dtypes = json::array();
    for (const Output& output : node.outputs) {
      json sizes = json::array();
      for (const Dim& d : output.shape) {
        if (d.is_constant()) {
          sizes.push_back(d.constant());
        } else {
          sizes.push_back(size_text(d));
        }
      }
      shapes.push_back(std::move(sizes));
      dtypes.push_back(to_string(output.dtype));
    }
    attributes["shape"] = json::array({shapes});
    attributes["dtype"] = json::array({dtypes});
    json written = {{"op", node.op}, {"name", node.name}};
    if (node.inputs.empty()) {
      arg_nodes.push_back(i);
    } else {
      attributes["num_inputs"] = std::to_string(node.inputs.size());
      attributes["num_outputs"] = std::to_string(node.outputs.size());
      written["inputs"] = entries(node.inputs);
    }
    written["attrs"] = std::move(attributes);
    nodes.push_back(std::move(written));
    outputs += node.outputs.size();
    row_ptr.push_back(outputs);
  }
  const json graph = {{"nodes", nodes},
                      {"arg_nodes", arg_nodes},
                      {"heads", entries(heads)},
                      {"node_row_ptr", row_ptr}};
  return graph.dump();
}

}  // namespace tessera::byoc
