// SPDX-License-Identifier: Apache-2.0
// Calls of operators, literals, functions and back ends.
#include <algorithm>

#include "lower/host_lowering.h"
#include "lower/index_check.h"
#include "lower/primitive.h"
#include "lower/shape_function.h"
#include "lower/size_derivation.h"
#include "lower/specialise.h"
#include "lower/views.h"
#include "relay/evaluation_order.h"
#include "relay/function_attributes.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "relay/shape_needs.h"

namespace tessera::lower {

using relay::Function;
using relay::NodeId;
using relay::RegionId;

Result<void> HostLowering::lower_operator(NodeId id) {
  const relay::OpCall& call = *f_.as<relay::OpCall>(id);
  relay::FunctionBuilder b;
  b.at(f_[id].location);
  std::vector<NodeId> args, outer;
  for (NodeId operand : f_.operands(id)) {
    const auto* c = f_.as<relay::Constant>(operand);
    const bool says_shape = relay::shape_need_of(*call.op, args.size()) == relay::ShapeNeed::kData;
    if (c != nullptr && (says_shape || module_.constants.resolve(c->value).num_elements() == 1)) {
      args.push_back(b.constant(c->value));
    } else {
      args.push_back(b.param(fmt::format("p{}", args.size()), type(operand)));
      outer.push_back(operand);
    }
    b.set_type(args.back(), type(operand));
  }
  const NodeId result = b.call(*call.op, args, call.attrs);
  b.set_type(result, f_.type(id));
  const Function single = b.finish(result);
  return call_region(id, single, Function::kBody, outer);
}

Result<void> HostLowering::lower_value_call(NodeId id) {
  const NodeId callee = relay::behind_lets(f_, f_.operands(id)[0]);
  const auto args = f_.operands(id).subspan(1);
  if (const auto* literal = f_.as<relay::Literal>(callee)) {
    const std::string compiler = literal->attrs.string_or_empty("Compiler");
    if (compiler.empty()) return call_literal(id, *literal, args);
    return call_extern(id, literal->attrs.string_or_empty("global_symbol"), args);
  }
  const auto* global = f_.as<relay::GlobalRef>(callee);
  if (global == nullptr) {
    return fail(error(Code::kNotSupported, f_[id].location,
                      "a call of a function value cannot be compiled; only literals and globals"));
  }
  const auto found = module_.functions.find(global->name);
  if (found == module_.functions.end()) return call_extern(id, global->name, args);
  const Function& target = found->second;
  if (relay::is_primitive(target.attrs) && relay::is_optimizable(target)) {
    return call_region(id, target, Function::kBody, args);
  }
  if (is_host_function(target)) return call_function(id, target, global->name, args);
  const std::string symbol = target.attrs.string_or_empty("global_symbol");
  return call_extern(id, symbol.empty() ? global->name : symbol, args);
}

Result<void> HostLowering::call_literal(NodeId id, const relay::Literal& literal,
                                        std::span<const NodeId> args) {
  if (relay::is_primitive(literal.attrs) || literal.attrs.find("Composite") != nullptr) {
    return call_region(id, f_, literal.body, args);
  }
  const relay::Region& body = f_.region(literal.body);
  for (std::size_t i = 0; i < args.size(); ++i) {
    value(body.params[i]) = values_of(args.subspan(i, 1));
    types_[body.params[i].index()] = type(args[i]);
  }
  TESSERA_TRY_VOID(lower_region(literal.body));
  value(id) = values_of({&body.result, 1});
  types_[id.index()] = type(body.result);
  return {};
}

Result<void> HostLowering::call_function(NodeId id, const Function& callee, const std::string& name,
                                         std::span<const NodeId> args) {
  for (const HostLowering* h = this; h != nullptr; h = h->caller_) {
    if (h->name_ != name) continue;
    return fail(error(Code::kNotSupported, f_[id].location,
                      "`@{}` calls itself through `@{}`: such recursion cannot be compiled", name,
                      name_)
                    .with_remedy("put what they do into one function that calls itself at its "
                                 "end; then it is a loop"));
  }
  TESSERA_TRY(const TailRecursion recursion, find_tail_recursion(callee, name));
  const std::vector<Type> known = types_of_nodes(args);
  const bool is_loop = !recursion.calls.empty();
  const bool as_annotated =
      std::equal(known.begin(), known.end(), callee.params().begin(), callee.params().end(),
                 [&](const Type& t, NodeId param) {
                   return t == callee.type(param) || (is_loop && fits(callee.type(param), t));
                 });
  if (as_annotated) return enter(id, callee, name, recursion, args);
  if (is_loop) {
    return fail(error(Code::kNotSupported, f_[id].location,
                      "`@{}` is a loop, and is called with other sizes than its parameters' "
                      "annotations say: such code cannot be made yet",
                      name)
                    .with_remedy("annotate its parameters with the types of the arguments"));
  }
  TESSERA_TRY(const Function special,
              specialise(callee, Function::kBody, known, module_.constants));
  return enter(id, special, name, recursion, args);
}

Result<void> HostLowering::enter(NodeId id, const Function& callee, const std::string& name,
                                 const TailRecursion& recursion, std::span<const NodeId> args) {
  HostLowering inner(callee, name, module_, kernels_, host_, this);
  for (std::size_t i = 0; i < args.size(); ++i) {
    inner.value(callee.params()[i]) = values_of(args.subspan(i, 1));
    inner.types_[callee.params()[i].index()] = type(args[i]);
  }
  const NodeId result = callee.result();
  if (recursion.calls.empty()) {
    TESSERA_TRY_VOID(inner.lower_region(Function::kBody));
  } else {
    TESSERA_TRY_VOID(inner.lower_loop(recursion));
  }
  value(id) = inner.values_of({&result, 1});
  types_[id.index()] = inner.type(result);
  return {};
}

Result<void> HostLowering::call_extern(NodeId id, const std::string& symbol,
                                       std::span<const NodeId> args) {
  if (!module_.externs.contains(symbol)) {
    return fail(error(Code::kNotSupported, f_[id].location,
                      "`@{}` is called, but no back end has compiled it", symbol)
                    .with_remedy("run the back ends before lowering, or inline the function"));
  }
  types_[id.index()] = f_.type(id);
  const std::vector<Type> given = types_of_nodes(args);
  const bool has_sizes =
      is_dynamic(f_.type(id)) || std::any_of(given.begin(), given.end(), is_dynamic);
  if (const auto body = module_.functions.find(symbol);
      has_sizes && body != module_.functions.end()) {
    TESSERA_TRY(Function known,
                specialise(body->second, Function::kBody, given, module_.constants));
    TESSERA_TRY(known, with_named_sizes(std::move(known), args));
    types_[id.index()] = known.type(known.result());
  }
  value(id) = host_.call({symbol, values_of(args), dims_of_loops(symbol, args, type(id))},
                         flatten(type(id)), symbol + "_out");
  return {};
}

std::vector<Dim> HostLowering::dims_of_loops(const std::string& symbol,
                                             std::span<const NodeId> args,
                                             const Type& result) const {
  const auto found = module_.prim_funcs.find(symbol);
  if (found == module_.prim_funcs.end()) return {};
  const tir::PrimFunc& f = found->second;
  std::vector<Type> tensors;
  for (const Type& t : types_of_nodes(args)) {
    for (Type& part : flatten(t)) tensors.push_back(std::move(part));
  }
  for (Type& part : flatten(result)) tensors.push_back(std::move(part));
  std::vector<tir::Buffer> buffers = f.inputs;
  buffers.insert(buffers.end(), f.outputs.begin(), f.outputs.end());
  std::vector<Dim> dims(f.dims.size(), Dim::unknown());
  for (std::size_t b = 0; b < std::min(buffers.size(), tensors.size()); ++b) {
    for (std::size_t d = 0; d < tensors[b].rank(); ++d) {
      for (std::size_t i = 0; i < f.dims.size(); ++i) {
        if (buffers[b]->shape[d].same_as(f.dims[i])) dims[i] = tensors[b].shape()[d];
      }
    }
  }
  return dims;
}

Result<void> HostLowering::call_region(NodeId id, const Function& f, relay::RegionId region,
                                       std::span<const NodeId> args) {
  const std::vector<Type> known = types_of_nodes(args);
  const std::vector<NodeId>& params = f.region(region).params;
  if (!std::equal(known.begin(), known.end(), params.begin(), params.end(),
                  [&](const Type& t, NodeId param) { return t == f.type(param); })) {
    TESSERA_TRY(const Function special, specialise(f, region, known, module_.constants));
    return call_kernel(id, special, Function::kBody, args);
  }
  return call_kernel(id, f, region, args);
}

Result<void> HostLowering::call_kernel(NodeId id, const Function& f, relay::RegionId region,
                                       std::span<const NodeId> args) {
  const bool is_own = &f == &f_;
  if (is_own ? !needs_run_time_sizes(f, nodes_[region.index()]) : !needs_run_time_sizes(f)) {
    return call_named(id, f, region, args);
  }
  Function body = is_own ? relay::outline(f, f.region(region).owner) : f;
  // Around it more may be known, such as elements of the list that says the shape.
  body.set_type(body.result(), with_numbers_of(f_.type(id), body.type(body.result())));
  TESSERA_TRY(const Function sized, with_named_sizes(std::move(body), args));
  return call_named(id, sized, Function::kBody, args);
}

Result<void> HostLowering::call_named(NodeId id, const Function& f, RegionId region,
                                      std::span<const NodeId> args) {
  types_[id.index()] = f.type(f.region(region).result);
  const Values inputs = values_of(args);
  const std::vector<Type> types = flatten(type(id));
  if (const int kept = kept_input(f, region); kept >= 0) {
    value(id) = {host_.view(inputs[static_cast<std::size_t>(kept)], types.front())};
    return {};
  }
  TESSERA_TRY(const Definitions definitions, define_region(f, region, module_.constants));
  TESSERA_TRY(tir::PrimFunc kernel,
              with_index_checks(lower_definitions(definitions), f, region, module_.constants));
  if (const int viewed = viewed_input(kernel); viewed >= 0) {
    value(id) = {host_.view(inputs[static_cast<std::size_t>(viewed)], types.front())};
    return {};
  }
  const std::string name = kernel.outputs.empty() ? "value" : kernel.outputs.back()->name;
  const std::string symbol = kernels_.symbol_of(std::move(kernel));
  keep_body(symbol, f, region);
  value(id) = host_.call({symbol, inputs, dims_of(definitions)}, types, name);
  return {};
}

// Calls what computes sizes that nobody knows before the run, and checks those that must agree.
Result<Function> HostLowering::with_named_sizes(Function f, std::span<const NodeId> args) {
  if (!needs_run_time_sizes(f)) return f;
  TESSERA_TRY(RunTimeSizes sizes,
              derive_run_time_sizes(f, module_.constants, [this] { return host_.fresh_symbol(); }));
  if (tir::is_empty(sizes.func.body)) return std::move(sizes.function);  // inference knew more
  HostCall call;
  for (const std::size_t i : sizes.data) {
    const Values data = values_of(args.subspan(i, 1));
    call.inputs.insert(call.inputs.end(), data.begin(), data.end());
  }
  call.dims = sizes.dims;
  const bool finds_any = !sizes.func.outputs.empty();  // else it only checks
  call.symbol = kernels_.symbol_of(std::move(sizes.func));
  if (finds_any) {
    host_.call_for_sizes(std::move(call), sizes.symbols);
  } else {
    host_.check(std::move(call));
  }
  return std::move(sizes.function);
}

void HostLowering::keep_body(const std::string& symbol, const Function& f, relay::RegionId region) {
  if (module_.functions.contains(symbol)) return;
  Function body = region == Function::kBody ? f : relay::outline(f, f.region(region).owner);
  body.attrs = {{"Extern", 1}};
  module_.functions.emplace(symbol, std::move(body));
}

}  // namespace tessera::lower
