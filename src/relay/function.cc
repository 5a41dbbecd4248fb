// SPDX-License-Identifier: Apache-2.0
#include "relay/function.h"

#include "relay/operator.h"

namespace tessera::relay {

void Function::set_annotation(NodeId id, Type type) {
  NodeData& data = nodes_[id.index()].data;
  if (auto* literal = std::get_if<Literal>(&data)) {
    literal->result_annotation = std::move(type);
  } else if (auto* let = std::get_if<Let>(&data)) {
    let->annotation = std::move(type);
  } else {
    Param* param = std::get_if<Param>(&data);
    TESSERA_CHECK(param != nullptr, "node {} has no annotation", id.index());
    param->annotation = std::move(type);
  }
}

bool is_call_of(const Function& f, NodeId id, std::string_view op) {
  return f.op(id) != nullptr && f.op(id)->name == op;
}

bool is_optimizable(const Function& f) {
  return f.attrs.find("Compiler") == nullptr && f.attrs.int_or_zero("Extern") == 0 &&
         f.attrs.int_or_zero("SkipOptimization") == 0;
}

Type type_of_signature(const Function& f) {
  std::vector<Type> params;
  params.reserve(f.params().size());
  for (NodeId id : f.params()) {
    params.push_back(f.type(id) ? f.type(id) : f.as<Param>(id)->annotation);
  }
  return function_type(std::move(params),
                       f.result_annotation ? f.result_annotation : f.type(f.result()));
}

}  // namespace tessera::relay
