// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ops/inference/infer_types.h"
#include "relay/evaluation_order.h"
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

// The types of the arguments of a call of `name`, where they are known.
std::optional<std::vector<Type>> argument_types(const Function& caller, const std::string& name) {
  for (std::size_t i = 0; i < caller.num_nodes(); ++i) {
    const relay::NodeId id(i);
    if (caller.as<relay::ValueCall>(id) == nullptr) continue;
    const auto* callee =
        caller.as<relay::GlobalRef>(relay::behind_lets(caller, caller.operands(id)[0]));
    if (callee == nullptr || callee->name != name) continue;
    std::vector<Type> types;
    for (relay::NodeId argument : caller.operands(id).subspan(1)) {
      types.push_back(caller.type(argument));
    }
    if (std::all_of(types.begin(), types.end(), [](const Type& t) { return bool(t); }))
      return types;
  }
  return std::nullopt;
}

// The functions that call `name` and that it calls, directly or through each other, itself first;
// none if it is not recursive.
std::vector<std::string> recursive_group(const Module& module, const std::string& name) {
  std::map<std::string, std::vector<std::string>> callees, callers;  // of what `name` reaches
  std::vector<std::string> open = {name};
  while (!open.empty()) {
    const std::string at = std::move(open.back());
    open.pop_back();
    const auto f = module.functions.find(at);
    if (f == module.functions.end() || callees.contains(at)) continue;
    callees[at] = globals_used(f->second);
    for (const std::string& callee : callees[at]) {
      callers[callee].push_back(at);
      open.push_back(callee);
    }
  }
  std::vector<std::string> group;
  std::set<std::string> seen;
  open = callers[name];
  while (!open.empty()) {
    const std::string at = std::move(open.back());
    open.pop_back();
    if (!seen.insert(at).second) continue;
    for (const std::string& caller : callers[at]) open.push_back(caller);
  }
  if (!seen.contains(name)) return group;
  group.push_back(name);
  seen.erase(name);
  group.insert(group.end(), seen.begin(), seen.end());
  return group;
}

// Completes the signature of a recursive function, as far as that can be.
void annotate_recursive(const Module& module, const std::string& name, Function& f,
                        const InferContext& context) {
  const auto lacks_type = [&](relay::NodeId p) { return !f.as<relay::Param>(p)->annotation; };
  for (const auto& [caller, function] : module.functions) {
    if (std::none_of(f.params().begin(), f.params().end(), lacks_type)) break;
    const std::vector<std::string> used = globals_used(function);
    if (caller == name || std::find(used.begin(), used.end(), name) == used.end()) continue;
    const auto types = argument_types(infer_known_types(function, context), name);
    if (!types || types->size() != f.params().size()) continue;
    for (std::size_t i = 0; i < types->size(); ++i) {
      if (lacks_type(f.params()[i])) f.set_annotation(f.params()[i], (*types)[i]);
    }
  }
  if (f.result_annotation) return;
  const Function known = infer_known_types(f, context);
  f.result_annotation = known.type(known.result());
}

// The same for functions that call each other: what one of them lacks, another may tell.
void annotate_group(Module& module, const std::vector<std::string>& group,
                    std::map<std::string, Type>& signatures) {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const std::string& name : group) {
      if (signatures.contains(name)) continue;
      Function& f = module.functions.at(name);
      annotate_recursive(module, name, f, {&signatures, &module.constants});
      if (Type t = annotated_signature(f)) {
        signatures[name] = t;
        goes_on = true;
      }
    }
  }
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
    const std::vector<std::string> used = globals_used(f);
    const auto is_open = [&](const std::string& callee) {
      return module.functions.contains(callee) && !signatures.contains(callee);
    };
    if (!signatures.contains(name) && std::any_of(used.begin(), used.end(), is_open)) {
      annotate_group(module, recursive_group(module, name), signatures);
    }
    for (const std::string& callee : used) {
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
