// SPDX-License-Identifier: Apache-2.0
#include "relay/function.h"

namespace tessera::relay {

void Function::set_param_annotation(NodeId id, Type type) {
  Param* param = std::get_if<Param>(&nodes_[id.index()].data);
  TESSERA_CHECK(param != nullptr, "node {} is no parameter", id.index());
  param->annotation = std::move(type);
}

void Function::set_result_annotation(NodeId literal, Type type) {
  Literal* found = std::get_if<Literal>(&nodes_[literal.index()].data);
  TESSERA_CHECK(found != nullptr, "node {} is no function literal", literal.index());
  found->result_annotation = std::move(type);
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
