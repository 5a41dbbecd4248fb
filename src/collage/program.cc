// SPDX-License-Identifier: Apache-2.0
#include "collage/program.h"

#include <map>

#include <fmt/format.h>

#include "module/text.h"
#include "relay/rewrite.h"

namespace tessera::collage {
namespace {

using relay::Function;
using relay::FunctionBuilder;
using relay::NodeId;

// A value of a tuple type, of parameters `<name>_<i>` for its tensors.
NodeId tuple_of_params(FunctionBuilder& b, const std::string& name, const Type& type, int& next) {
  if (!type.is_tuple()) {
    const NodeId param = b.param(fmt::format("{}_{}", name, next++), type);
    b.set_type(param, type);
    return param;
  }
  std::vector<NodeId> fields;
  for (const Type& field : type.fields()) fields.push_back(tuple_of_params(b, name, field, next));
  const NodeId tuple = b.tuple(fields);
  b.set_type(tuple, type);
  return tuple;
}

// The same function with other parameters: `argument` makes what stands for one, or is invalid for
// one that stays.
template <class Argument>
Function with_arguments(const Function& f, const Argument& argument) {
  FunctionBuilder b;
  std::vector<NodeId> arguments;
  for (std::size_t i = 0; i < f.params().size(); ++i) {
    const NodeId id = f.params()[i];
    const auto& param = *f.as<relay::Param>(id);
    NodeId made = argument(b, i);
    if (!made) {
      made = b.param(param.name, param.annotation);
      b.set_type(made, f.type(id));
    }
    arguments.push_back(made);
  }
  const NodeId result = relay::inline_call(b, f, arguments);
  return b.finish(result, f.attrs, f.result_annotation);
}

// Fewer numbers than this are scales, zero points and shapes.
constexpr std::int64_t kFewNumbers = 32;

std::string identity(const Tensor& t) {
  std::string text = to_string(t.dtype);
  for (const std::int64_t size : t.shape) text += fmt::format("x{}", size);
  if (t.dtype.is_float() && t.num_elements() >= kFewNumbers) return text;
  return text + ":" + t.blob->hash().hex();
}

}  // namespace

Function with_tensor_params(const Function& f) {
  bool has_tuples = false;
  for (const NodeId param : f.params()) has_tuples |= f.type(param).is_tuple();
  if (!has_tuples) return f;
  return with_arguments(f, [&](FunctionBuilder& b, std::size_t i) {
    const NodeId id = f.params()[i];
    int next = 0;
    return f.type(id).is_tuple()
               ? tuple_of_params(b, f.as<relay::Param>(id)->name, f.type(id), next)
               : NodeId();
  });
}

Function program_of(const DataflowGraph& graph, const SubGraph& sub_graph) {
  const SubGraphFunction extracted = extract(graph, sub_graph, {});
  const Function& f = graph.function();
  const Function bound = with_arguments(extracted.function, [&](FunctionBuilder& b, std::size_t i) {
    const NodeId input = graph[extracted.inputs[i]].node;
    return f.as<relay::Constant>(input) != nullptr ? b.copy(f, input, {}) : NodeId();
  });
  return with_tensor_params(bound);
}

std::string program_text(const Function& program, const ConstantPool& pool) {
  const TextAndConstants printed = print_apart(program, pool);
  std::string text = printed.text;
  for (const Tensor& constant : printed.constants) text += identity(constant) + "\n";
  return text;
}

}  // namespace tessera::collage
