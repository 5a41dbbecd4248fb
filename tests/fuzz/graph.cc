// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/graph.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "relay/rewrite.h"

namespace tessera::fuzz {

using relay::NodeId;

Dim closed(const Dim& dim, const Sizes& sizes) {
  return dim.substitute(std::map<std::string, Dim>(sizes.begin(), sizes.end()));
}

Type closed(const Type& type, const Sizes& sizes) {
  if (!type || sizes.empty()) return type;
  if (type.is_tuple()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields()) fields.push_back(closed(field, sizes));
    return tuple_type(std::move(fields));
  }
  if (!type.is_tensor()) return type;
  Shape shape = type.shape();
  for (Dim& dim : shape) dim = closed(dim, sizes);
  return tensor_type(std::move(shape), type.dtype());
}

std::optional<relay::Function> closed(relay::Function f, const Sizes& sizes) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id(i);
    if (const auto* param = f.as<relay::Param>(id)) {
      f.set_annotation(id, closed(param->annotation, sizes));
    } else if (const auto* let = f.as<relay::Let>(id)) {
      f.set_annotation(id, closed(let->annotation, sizes));
    } else if (const auto* literal = f.as<relay::Literal>(id)) {
      f.set_annotation(id, closed(literal->result_annotation, sizes));
    }
  }
  f.result_annotation = closed(f.result_annotation, sizes);
  auto typed = ops::infer_types(std::move(f));
  if (!typed) return std::nullopt;
  return std::move(typed).value();
}

std::vector<Tensor> reference(const Graph& graph, const Run& run) {
  return ops::evaluate(graph.function, {}, run.inputs);
}

std::vector<std::string> unreadable_symbols(const relay::Function& f) {
  std::set<std::string> all, readable;
  for (const NodeId param : f.params()) {
    for (const Type& t : flatten(f.as<relay::Param>(param)->annotation)) {
      for (const Dim& dim : t.shape()) {
        for (const std::string& symbol : dim.symbols()) {
          all.insert(symbol);
          if (dim == Dim::symbol(symbol)) readable.insert(symbol);
        }
      }
    }
  }
  std::vector<std::string> out;
  std::set_difference(all.begin(), all.end(), readable.begin(), readable.end(),
                      std::back_inserter(out));
  return out;
}

Graph with_readable_sizes(Graph graph) {
  const std::vector<std::string> missing = unreadable_symbols(graph.function);
  if (missing.empty()) return graph;
  const auto add_params = [&](relay::Copier& c, relay::RegionId region) {
    const NodeId result = c.map(c.from().region(region).result);
    if (region != relay::Function::kBody) return result;
    for (const std::string& symbol : missing) {
      c.builder().param("size_" + symbol, tensor_type({Dim::symbol(symbol)}, kFloat32));
    }
    return result;
  };
  auto typed = ops::infer_types(relay::rewrite(graph.function, {}, {}, add_params));
  TESSERA_CHECK(typed.has_value(), "sizes of a graph: {}", render(typed.error()));
  graph.function = std::move(typed).value();
  return graph;
}

Tensor size_tensor(const Type& type, const Run& run) {
  const std::int64_t size = closed(type, run.sizes).shape()[0].constant();
  return tensor_from_doubles({size}, type.dtype(),
                             std::vector<double>(static_cast<std::size_t>(size)));
}

Module module_of(const Graph& graph) {
  Module module;
  module.symbols = graph.symbols;
  module.functions.emplace("main", graph.function);
  return module;
}

}  // namespace tessera::fuzz
