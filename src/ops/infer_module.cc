// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "ops/infer_types.h"
#include "tir/buffer.h"
#include "tir/expr_ops.h"

namespace tessera::ops {
namespace {

using relay::Function;

// The signature, where parameters and result are all annotated.
Type annotated_signature(const Function& f) {
  std::vector<Type> params;
  for (relay::NodeId p : f.params()) {
    const Type& t = f.as<relay::Param>(p)->annotation;
    if (!t) return {};
    params.push_back(t);
  }
  if (!f.result_annotation) return {};
  return function_type(std::move(params), f.result_annotation);
}

std::vector<std::string> globals_used(const Function& f) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (const auto* g = f.as<relay::GlobalRef>(relay::NodeId(i))) names.insert(g->name);
  }
  return {names.begin(), names.end()};
}

// The functions' names, callees before callers; within a cycle in any order.
std::vector<std::string> callees_first(const Module& module) {
  struct Open {
    std::string name;
    std::vector<std::string> callees;
    std::size_t next = 0;
  };
  std::vector<std::string> order;
  std::set<std::string> seen;
  std::vector<Open> stack;
  const auto enter = [&](const std::string& name) {
    const auto it = module.functions.find(name);
    if (it != module.functions.end() && seen.insert(name).second) {
      stack.push_back({name, globals_used(it->second)});
    }
  };
  for (const auto& [name, function] : module.functions) {
    enter(name);
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next == top.callees.size()) {
        order.push_back(top.name);
        stack.pop_back();
      } else {
        enter(std::string(top.callees[top.next++]));
      }
    }
  }
  return order;
}

Type extern_signature(const Extern& e) {
  return function_type(e.inputs, e.outputs.size() == 1 ? e.outputs[0] : tuple_type(e.outputs));
}

Type type_of_buffer(const tir::Buffer& buffer) {
  Shape shape;
  for (const tir::Expr& extent : buffer->shape) {
    const std::int64_t* n = tir::as_int(extent);
    shape.push_back(n != nullptr ? Dim(*n) : Dim::unknown());
  }
  return tensor_type(std::move(shape), buffer->dtype);
}

// Tensors in, a tensor or a tuple of tensors out.
Type loop_signature(const tir::PrimFunc& f) {
  std::vector<Type> in, out;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) in.push_back(type_of_buffer(f.inputs[i]));
  for (std::size_t i = 0; i < f.outputs.size(); ++i) out.push_back(type_of_buffer(f.outputs[i]));
  Type result = out.size() == 1 ? out[0] : tuple_type(std::move(out));
  return function_type(std::move(in), std::move(result));
}

}  // namespace

Result<Module> infer_types(Module module) {
  std::map<std::string, Type> signatures;
  for (const auto& [name, f] : module.prim_funcs) signatures[name] = loop_signature(f);
  for (const auto& [name, e] : module.externs) signatures[name] = extern_signature(e);
  for (const auto& [name, f] : module.functions) {
    if (Type t = annotated_signature(f)) signatures[name] = t;
  }
  Diagnostics findings;
  std::set<std::string> done;
  for (const std::string& name : callees_first(module)) {
    Function& f = module.functions.at(name);
    bool is_ready = true;
    for (const std::string& callee : globals_used(f)) {
      if (!module.functions.contains(callee) || signatures.contains(callee)) continue;
      is_ready = false;
      if (done.contains(callee)) continue;  // it has findings of its own
      findings.add(error(Code::kTypeMismatch, f.location,
                         "`@{}` calls `@{}`, which is recursive and has no complete signature",
                         name, callee)
                       .with_remedy("annotate its parameters and its result"));
    }
    done.insert(name);
    if (!is_ready) continue;
    Result<Function> typed = infer_types(std::move(f), {&signatures, &module.constants});
    if (!typed) {
      findings.add(std::move(typed).error());
      continue;
    }
    f = std::move(typed).value();
    signatures[name] = relay::type_of_signature(f);
  }
  if (!findings.empty()) return fail(std::move(findings));
  return module;
}

}  // namespace tessera::ops
