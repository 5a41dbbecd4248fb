// SPDX-License-Identifier: Apache-2.0
#include "lower/main.h"

#include <set>
#include <unordered_map>

#include "lower/host_program.h"
#include "lower/names.h"
#include "lower/primitive.h"
#include "lower/specialise.h"
#include "lower/tail_recursion.h"
#include "lower/views.h"
#include "relay/evaluation_order.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "tir/compare.h"
#include "tir/expr_ops.h"
#include "tir/names.h"

namespace tessera::lower {
namespace {

using relay::Function;
using relay::NodeId;
using relay::RegionId;

// A formal dimension of the kernel is a symbol of its name.
std::vector<Type> types_of(const std::vector<tir::Buffer>& buffers) {
  std::vector<Type> types;
  for (const tir::Buffer& b : buffers) {
    Shape shape;
    for (const tir::Expr& e : b->shape) {
      const std::int64_t* n = tir::as_int(e);
      const auto* var = e.as<tir::Var>();
      shape.push_back(n != nullptr     ? Dim(*n)
                      : var != nullptr ? Dim::symbol(tir::identifier(var->name))
                                       : Dim::unknown());
    }
    types.push_back(tensor_type(std::move(shape), b->dtype));
  }
  return types;
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// out[i] = in[i]
Definitions copy_definition(const Type& type) {
  Definitions d;
  const tir::TensorExpr in = tir::input_tensor("x", d.dims.shape(type.shape()), type.dtype());
  d.inputs = {in};
  d.outputs = {tir::compute("y", in.shape(), [&](const tir::Indices& i) { return in(i); })};
  d.operators = {"copy"};
  return d;
}

std::vector<Dim> values_of_formals(const tir::DimVars& formals) {
  std::vector<Dim> dims;
  for (const auto& formal : formals.formals()) dims.push_back(formal.dim);
  return dims;
}

std::vector<Dim> dims_of(const Definitions& d) { return values_of_formals(d.dims); }

// The sizes of a type for a kernel's name; -1 for what is known at run time.
std::vector<std::int64_t> sizes_for_name(const Type& type) {
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : type.shape()) sizes.push_back(dim.as_constant().value_or(-1));
  return sizes;
}

// y[index, ...] = row[...], where there is such a row; all else of y stays as it is.
tir::PrimFunc row_kernel(const Type& data, const Type& index, tir::DimVars& dims) {
  const std::vector<tir::Expr> shape = dims.shape(data.shape());
  tir::PrimFunc f;
  for (const auto& formal : dims.formals()) f.dims.push_back(formal.var);
  f.inputs = {tir::make_buffer("row", data.dtype(), {shape.begin() + 1, shape.end()}),
              tir::make_buffer("index", index.dtype(), {})};
  f.outputs = {tir::make_buffer("y", data.dtype(), shape)};
  const tir::Expr at = tir::cast(tir::load(f.inputs[1], {}), kInt64);
  const tir::Expr exists = tir::logical_and(tir::ge(at, 0), tir::lt(at, shape[0]));
  std::vector<tir::Expr> from, to{tir::max(tir::min(at, shape[0] - 1), 0)};
  for (std::size_t i = 1; i < shape.size(); ++i) {
    from.push_back(tir::make_var(fmt::format("i{}", i)));
    to.push_back(from.back());
  }
  const tir::Expr old = tir::load(f.outputs[0], to);
  f.body =
      tir::Store::make(f.outputs[0], to, tir::select(exists, tir::load(f.inputs[0], from), old));
  for (std::size_t i = from.size(); i-- > 0;) {
    f.body = tir::For::make(from[i], tir::Expr(0), shape[i + 1], tir::ForKind::kSerial, f.body);
  }
  f.attrs["ops"] = "update_row";
  return f;
}

// The kernels of a module, each once.
class Kernels {
 public:
  explicit Kernels(Module& module) : module_(module) {}

  std::string symbol_of(tir::PrimFunc kernel) {
    auto& same_hash = by_hash_[tir::hash(kernel)];
    for (const std::string& symbol : same_hash) {
      if (!tir::equal(module_.prim_funcs.at(symbol), kernel)) continue;
      auto& sources = module_.externs.at(symbol).sources;
      sources.insert(sources.end(), kernel.sources.begin(), kernel.sources.end());
      return symbol;
    }
    const std::string symbol = fresh_symbol(kernel);
    Extern e;
    e.backend = "native";
    e.convention = CallingConvention::kGenerated;
    e.inputs = types_of(kernel.inputs);
    e.outputs = types_of(kernel.outputs);
    e.operators = words(kernel.attrs["ops"]);
    e.sources = kernel.sources;
    module_.externs.emplace(symbol, std::move(e));
    module_.prim_funcs.emplace(symbol, std::move(kernel));
    same_hash.push_back(symbol);
    return symbol;
  }

 private:
  std::string fresh_symbol(const tir::PrimFunc& kernel) {
    const Type first = kernel.outputs.empty() ? tensor_type({}, kFloat32)
                                              : types_of({kernel.outputs.front()}).front();
    const auto ops = kernel.attrs.find("ops");
    return kernel_symbol(
        number_++, ops == kernel.attrs.end() ? std::vector<std::string>{} : words(ops->second),
        first.dtype(), sizes_for_name(first));
  }

  Module& module_;
  int number_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::string>> by_hash_;
};

bool is_host_function(const Function& f) {
  return relay::is_optimizable(f) && f.attrs.int_or_zero("Primitive") == 0;
}

// A function's body, node by node; those of the functions that it calls are put in their places.
class HostLowering {
 public:
  HostLowering(const Function& f, std::string name, Module& module, Kernels& kernels,
               HostProgram& host, const HostLowering* caller = nullptr)
      : f_(f),
        name_(std::move(name)),
        module_(module),
        kernels_(kernels),
        host_(host),
        caller_(caller),
        values_(f.num_nodes()),
        types_(f.num_nodes()),
        nodes_(f.num_regions()) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      nodes_[f[NodeId(i)].region.index()].push_back(NodeId(i));
    }
  }

  Result<tir::PrimFunc> run() {
    for (NodeId param : f_.params()) {
      const std::vector<Type> parts = flatten(f_.type(param));
      const std::string& name = f_.as<relay::Param>(param)->name;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string part = parts.size() == 1 ? name : fmt::format("{}_{}", name, i);
        value(param).push_back(host_.input(part, parts[i]));
      }
    }
    TESSERA_TRY(const TailRecursion recursion, find_tail_recursion(f_, name_));
    if (recursion.calls.empty()) {
      TESSERA_TRY_VOID(lower_region(Function::kBody));
    } else {
      TESSERA_TRY(value(f_.result()), lower_loop(recursion));
    }
    return finish();
  }

 private:
  using Values = std::vector<HostValue>;
  Values& value(NodeId id) { return values_[id.index()]; }
  // With sizes that callees do not know from their annotations, but from the arguments.
  const Type& type(NodeId id) const {
    return types_[id.index()] ? types_[id.index()] : f_.type(id);
  }
  std::vector<Type> types_of_nodes(std::span<const NodeId> nodes) const {
    std::vector<Type> types;
    for (const NodeId node : nodes) types.push_back(type(node));
    return types;
  }

  // The nodes of a region, but for `except` and its names; all errors together.
  Result<void> lower_region(RegionId region, NodeId except = {}) {
    Diagnostics errors;
    for (const NodeId id : nodes_[region.index()]) {
      if (except && relay::behind_lets(f_, id) == except) continue;
      if (auto done = lower_node(id); !done) errors.add(std::move(done).error());
    }
    if (!errors.empty()) return fail(std::move(errors));
    return {};
  }

  Result<void> lower_node(NodeId id) {
    const auto operands = f_.operands(id);
    if (loop_ != nullptr) {
      if (const auto update = loop_->in_place.find(id); update != loop_->in_place.end()) {
        update_in_place(id, update->second);
        return {};
      }
    }
    switch (f_[id].kind()) {
      case relay::NodeKind::kParam:
      case relay::NodeKind::kConstant:  // when it is used
      case relay::NodeKind::kLiteral:
      case relay::NodeKind::kGlobalRef:
        return {};
      case relay::NodeKind::kTuple:
        value(id) = values_of(operands);
        types_[id.index()] = tuple_type(types_of_nodes(operands));
        return {};
      case relay::NodeKind::kProject:
        project(id, operands[0], f_.as<relay::Project>(id)->index);
        return {};
      case relay::NodeKind::kLet:
        value(id) = values_of(operands);
        types_[id.index()] = type(operands[0]);
        return {};
      case relay::NodeKind::kOpCall:
        return lower_operator(id);
      case relay::NodeKind::kValueCall:
        return lower_value_call(id);
      case relay::NodeKind::kIf:
        return lower_if(id);
    }
    return {};
  }

  // The tensors of some nodes in order; constants become part of the program here.
  Values values_of(std::span<const NodeId> nodes) {
    Values out;
    for (NodeId node : nodes) {
      if (const auto* c = f_.as<relay::Constant>(node); c != nullptr && value(node).empty()) {
        const auto* index = std::get_if<ConstantIndex>(&c->value);
        const ConstantIndex i =
            index != nullptr ? *index : module_.constants.add(std::get<Tensor>(c->value));
        value(node) = {host_.constant(i, module_.constants[i])};
      }
      out.insert(out.end(), value(node).begin(), value(node).end());
    }
    return out;
  }

  void project(NodeId id, NodeId tuple, int index) {
    const std::vector<Type>& fields = type(tuple).fields();
    std::size_t first = 0;
    for (int i = 0; i < index; ++i) first += flatten(fields[static_cast<std::size_t>(i)]).size();
    const auto begin = value(tuple).begin() + static_cast<std::ptrdiff_t>(first);
    types_[id.index()] = fields[static_cast<std::size_t>(index)];
    value(id).assign(begin, begin + static_cast<std::ptrdiff_t>(flatten(type(id)).size()));
  }

  // An operator outside of any primitive function: as if it were in one of its own.
  Result<void> lower_operator(NodeId id) {
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    relay::FunctionBuilder b;
    b.at(f_[id].location);
    std::vector<NodeId> args, outer;
    for (NodeId operand : f_.operands(id)) {
      const auto* c = f_.as<relay::Constant>(operand);
      const bool says_shape = args.size() < std::size(call.op->shape_need) &&
                              call.op->shape_need[args.size()] == relay::ShapeNeed::kData;
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

  Result<void> lower_value_call(NodeId id) {
    const NodeId callee = relay::behind_lets(f_, f_.operands(id)[0]);
    const auto args = f_.operands(id).subspan(1);
    if (const auto* literal = f_.as<relay::Literal>(callee)) {
      const std::string compiler = literal->attrs.string_or_empty("Compiler");
      if (compiler.empty()) return call_literal(id, *literal, args);
      return call_extern(id, literal->attrs.string_or_empty("global_symbol"), args);
    }
    const auto* global = f_.as<relay::GlobalRef>(callee);
    if (global == nullptr) {
      return fail(
          error(Code::kNotSupported, f_[id].location,
                "a call of a function value cannot be compiled; only literals and globals"));
    }
    const auto found = module_.functions.find(global->name);
    if (found == module_.functions.end()) return call_extern(id, global->name, args);
    const Function& target = found->second;
    if (target.attrs.int_or_zero("Primitive") != 0 && relay::is_optimizable(target)) {
      return call_region(id, target, Function::kBody, args);
    }
    if (is_host_function(target)) return call_function(id, target, global->name, args);
    const std::string symbol = target.attrs.string_or_empty("global_symbol");
    return call_extern(id, symbol.empty() ? global->name : symbol, args);
  }

  // Kernels take no values from outside; other literals are put in place of the call.
  Result<void> call_literal(NodeId id, const relay::Literal& literal,
                            std::span<const NodeId> args) {
    for (const char* name : {"Primitive", "Composite"}) {
      if (literal.attrs.find(name) != nullptr) return call_region(id, f_, literal.body, args);
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

  // ---- Control flow ----

  Result<void> lower_if(NodeId id) {
    const auto& branch = *f_.as<relay::If>(id);
    TESSERA_TRY(value(id), declare_results(id, "if_result"));
    TESSERA_TRY(const int yes, lower_branch(branch.then_region, value(id)));
    TESSERA_TRY(const int no, lower_branch(branch.else_region, value(id)));
    host_.branch(values_of(f_.operands(id)).front(), yes, no);
    return {};
  }

  Result<Values> declare_results(NodeId id, const std::string& name) {
    Values results;
    for (const Type& type : flatten(f_.type(id))) {
      if (has_unknown_size(type)) {
        return fail(error(Code::kNotSupported, f_[id].location,
                          "the size of the result, {}, depends on the branch that is taken: such "
                          "code cannot be made yet",
                          to_string(type))
                        .with_remedy("make both branches give results of one size"));
      }
      results.push_back(host_.declare(name, type, HostProgram::Memory::kResult));
    }
    return results;
  }

  Result<int> lower_branch(RegionId region, const Values& results) {
    const int block = host_.begin_block();
    const auto done = lower_region(region);
    const auto delivered = done ? deliver(region, results) : done;
    host_.end_block();
    if (!delivered) return fail(delivered.error());
    return block;
  }

  Result<void> deliver(RegionId region, const Values& into) {
    const NodeId result = f_.region(region).result;
    TESSERA_TRY_VOID(require_named_sizes(result, f_));
    const Values from = values_of({&result, 1});
    const std::vector<Type> types = flatten(type(result));
    for (std::size_t i = 0; i < into.size(); ++i) put(from[i], types[i], into[i]);
    return {};
  }

  // The value in other memory: computed there where that can be.
  void put(HostValue from, const Type& type, HostValue into) {
    if (!host_.redirect(from, into)) copy(from, type, into);
  }
  void copy(HostValue from, const Type& type, HostValue into) {
    const Definitions copy = copy_definition(type);
    host_.call_into({kernels_.symbol_of(lower_definitions(copy)), {from}, dims_of(copy)}, into);
  }

  // A function of the module: its body in place of the call, a loop if it calls itself.
  Result<void> call_function(NodeId id, const Function& callee, const std::string& name,
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
    const bool as_annotated =
        std::equal(known.begin(), known.end(), callee.params().begin(), callee.params().end(),
                   [&](const Type& t, NodeId param) { return t == callee.type(param); });
    if (as_annotated) return enter(id, callee, name, recursion, args);
    if (!recursion.calls.empty()) {
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

  Result<void> enter(NodeId id, const Function& callee, const std::string& name,
                     const TailRecursion& recursion, std::span<const NodeId> args) {
    HostLowering inner(callee, name, module_, kernels_, host_, this);
    for (std::size_t i = 0; i < args.size(); ++i) {
      inner.value(callee.params()[i]) = values_of(args.subspan(i, 1));
    }
    const NodeId result = callee.result();
    if (recursion.calls.empty()) {
      TESSERA_TRY_VOID(inner.lower_region(Function::kBody));
      value(id) = inner.values_of({&result, 1});
    } else {
      TESSERA_TRY(value(id), inner.lower_loop(recursion));
    }
    types_[id.index()] = inner.type(result);
    return {};
  }

  // A loop that the program goes round while a flag is set:
  //
  //   carried = arguments; flag = true
  //   while flag: { ...; if condition: { ...; carried = new values } else: { results; flag = false
  //   } }
  Result<Values> lower_loop(const TailRecursion& recursion) {
    loop_ = &recursion;
    for (std::size_t i = 0; i < f_.params().size(); ++i) {
      const NodeId param = f_.params()[i];
      if (!recursion.changes[i]) continue;
      const std::vector<Type> types = flatten(f_.type(param));
      for (std::size_t k = 0; k < types.size(); ++k) {
        const HostValue memory = host_.declare(f_.as<relay::Param>(param)->name, types[k],
                                               HostProgram::Memory::kCarried);
        copy(value(param)[k], types[k], memory);
        value(param)[k] = memory;
      }
    }
    TESSERA_TRY(results_, declare_results(f_.result(), "loop_result"));
    flag_ = host_.declare("goes_on", tensor_type({}, kBool), HostProgram::Memory::kCarried);
    host_.set(flag_, true);
    TESSERA_TRY(const int body, lower_tail_block(Function::kBody));
    host_.loop_while(flag_, body);
    return results_;
  }

  Result<int> lower_tail_block(RegionId region) {
    const int block = host_.begin_block();
    const auto done = lower_tail(region);
    host_.end_block();
    if (!done) return fail(done.error());
    return block;
  }

  // A region whose result is the loop's, or leads to its next iteration.
  Result<void> lower_tail(RegionId region) {
    const NodeId last = relay::behind_lets(f_, f_.region(region).result);
    const bool again = loop_->calls.contains(last) && f_[last].region == region;
    if (!again && !(loop_->branches.contains(last) && f_[last].region == region)) {
      TESSERA_TRY_VOID(lower_region(region));
      TESSERA_TRY_VOID(deliver(region, results_));
      host_.set(flag_, false);
      return {};
    }
    TESSERA_TRY_VOID(lower_region(region, last));
    if (again) return go_round(last);
    const auto& branch = *f_.as<relay::If>(last);
    TESSERA_TRY(const int yes, lower_tail_block(branch.then_region));
    TESSERA_TRY(const int no, lower_tail_block(branch.else_region));
    host_.branch(values_of(f_.operands(last)).front(), yes, no);
    return {};
  }

  // All new values are there before the first of the old ones goes.
  Result<void> go_round(NodeId call) {
    struct Move {
      HostValue from, into;
      Type type;
    };
    std::vector<Move> moves;
    std::set<int> carried;
    for (std::size_t i = 0; i < f_.params().size(); ++i) {
      if (!loop_->changes[i]) continue;
      const NodeId argument = f_.operands(call)[1 + i];
      const std::vector<Type> types = flatten(type(argument));
      if (types != flatten(f_.type(f_.params()[i]))) return changed_size(call, i);
      const Values from = values_of({&argument, 1}), into = value(f_.params()[i]);
      for (std::size_t k = 0; k < into.size(); ++k) {
        carried.insert(into[k].root);
        if (from[k].root != into[k].root) moves.push_back({from[k], into[k], types[k]});
      }
    }
    for (Move& m : moves) {
      if (!carried.contains(m.from.root)) continue;
      const Definitions copy = copy_definition(m.type);
      const std::string symbol = kernels_.symbol_of(lower_definitions(copy));
      m.from = host_.call({symbol, {m.from}, dims_of(copy)}, {m.type}, "old").front();
    }
    for (const Move& m : moves) put(m.from, m.type, m.into);
    return {};
  }

  Result<void> changed_size(NodeId call, std::size_t param) const {
    return fail(error(Code::kNotSupported, f_[call].location,
                      "`%{}` of the loop `@{}` changes its size from {} to {}: such code cannot be "
                      "made yet",
                      f_.as<relay::Param>(f_.params()[param])->name, name_,
                      to_string(f_.type(f_.params()[param])),
                      to_string(type(f_.operands(call)[1 + param])))
                    .with_remedy("carry values of one size"));
  }

  // A row of a loop's result, written where it belongs.
  void update_in_place(NodeId id, std::size_t param) {
    const RowUpdate update = *row_update(f_, id);
    const NodeId inputs[] = {update.row, update.index};
    value(id) = value(f_.params()[param]);
    if (f_.type(id).shape()[0] == Dim(0)) return;
    tir::DimVars dims;
    tir::PrimFunc kernel = row_kernel(f_.type(id), f_.type(update.index), dims);
    host_.call_into(
        {kernels_.symbol_of(std::move(kernel)), values_of(inputs), values_of_formals(dims)},
        value(id).front());
  }

  Result<void> call_extern(NodeId id, const std::string& symbol, std::span<const NodeId> args) {
    if (!module_.externs.contains(symbol)) {
      return fail(error(Code::kNotSupported, f_[id].location,
                        "`@{}` is called, but no back end has compiled it", symbol)
                      .with_remedy("run the back ends before lowering, or inline the function"));
    }
    types_[id.index()] = f_.type(id);
    if (const auto body = module_.functions.find(symbol);
        is_dynamic(f_.type(id)) && body != module_.functions.end()) {
      TESSERA_TRY(const Function known, specialise(body->second, Function::kBody,
                                                   types_of_nodes(args), module_.constants));
      types_[id.index()] = known.type(known.result());
    }
    TESSERA_TRY_VOID(require_named_sizes(id, f_));
    value(id) = host_.call({symbol, values_of(args), dims_of_loops(symbol, args, type(id))},
                           flatten(type(id)), symbol + "_out");
    return {};
  }

  // Values of the formal dimensions of a back end's loop function: the sizes in the same places of
  // the call's tensors.
  std::vector<Dim> dims_of_loops(const std::string& symbol, std::span<const NodeId> args,
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

  Result<void> call_region(NodeId id, const Function& f, relay::RegionId region,
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

  // The same where the arguments have the parameters' types.
  Result<void> call_kernel(NodeId id, const Function& f, relay::RegionId region,
                           std::span<const NodeId> args) {
    types_[id.index()] = f.type(f.region(region).result);
    TESSERA_TRY_VOID(require_named_sizes(id, f));
    const Values inputs = values_of(args);
    const std::vector<Type> types = flatten(type(id));
    if (const int kept = kept_input(f, region); kept >= 0) {
      value(id) = {host_.view(inputs[static_cast<std::size_t>(kept)], types.front())};
      return {};
    }
    TESSERA_TRY(const Definitions definitions, define_region(f, region, module_.constants));
    tir::PrimFunc kernel = lower_definitions(definitions);
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

  static bool has_unknown_size(const Type& type) {
    for (const Type& t : flatten(type)) {
      if (std::any_of(t.shape().begin(), t.shape().end(),
                      [](const Dim& d) { return d.is_unknown(); })) {
        return true;
      }
    }
    return false;
  }

  // `f`: what computes the node, whose first operator with a size that depends on data is named.
  Result<void> require_named_sizes(NodeId id, const Function& f) const {
    if (!has_unknown_size(type(id))) return {};
    std::string_view op = "a function";
    Location at = f_[id].location;
    for (std::size_t i = f.num_nodes(); i-- > 0;) {
      if (f.op(NodeId(i)) == nullptr || !has_unknown_size(f.type(NodeId(i)))) continue;
      op = f.op(NodeId(i))->name;
      if (f[NodeId(i)].location) at = f[NodeId(i)].location;
    }
    return fail(
        error(Code::kNotSupported, at,
              "the size of the result of `{}`, {}, depends on data; code for that cannot be "
              "made yet",
              op, to_string(type(id)))
            .with_remedy("replace the operator by one whose result has a fixed size"));
  }

  // What a kernel computes stays in the module as a stub, as for externs of back ends: for shape
  // functions, and for whoever wants to compare.
  void keep_body(const std::string& symbol, const Function& f, relay::RegionId region) {
    if (module_.functions.contains(symbol)) return;
    Function body = region == Function::kBody ? f : relay::outline(f, f.region(region).owner);
    body.attrs = {{"Extern", 1}};
    module_.functions.emplace(symbol, std::move(body));
  }

  Result<tir::PrimFunc> finish() {
    const NodeId result = f_.result();
    Values results = values_of({&result, 1});
    const std::vector<Type> types = flatten(type(result));
    const std::vector<bool> copies = host_.copies_needed(results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!copies[i]) continue;
      const Definitions copy = copy_definition(types[i]);
      const std::string symbol = kernels_.symbol_of(lower_definitions(copy));
      results[i] = host_.call({symbol, {results[i]}, dims_of(copy)}, {types[i]}, "copy").front();
    }
    tir::PrimFunc f = host_.finish(results, output_names(results.size()));
    if (f_.location) f.sources.push_back(f_.location);
    return f;
  }

  // Those of the model, where the importer left them.
  std::vector<std::string> output_names(std::size_t count) const {
    std::vector<std::string> names;
    const relay::AttrValue* given = f_.attrs.find("output_names");
    const auto* list = given != nullptr ? given->as<relay::AttrArray>() : nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string* name =
          list != nullptr && i < list->size() ? (*list)[i].as<std::string>() : nullptr;
      names.push_back(name != nullptr ? *name
                      : count == 1    ? "output"
                                      : fmt::format("output_{}", i));
    }
    return names;
  }

  const Function& f_;
  const std::string name_;
  Module& module_;
  Kernels& kernels_;
  HostProgram& host_;
  const HostLowering* caller_;
  std::vector<Values> values_;
  std::vector<Type> types_;
  std::vector<std::vector<NodeId>> nodes_;  // by region
  const TailRecursion* loop_ = nullptr;     // of a function that is one:
  Values results_;                          // where its results go
  HostValue flag_;                          // is there another iteration?
};

// Functions that others call are parts of these.
std::set<std::string> entries(const Module& module) {
  std::set<std::string> names, called;
  for (const auto& [name, f] : module.functions) {
    if (is_host_function(f)) names.insert(name);
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (const auto* global = f.as<relay::GlobalRef>(NodeId(i))) called.insert(global->name);
    }
  }
  called.erase("main");
  for (const std::string& name : called) names.erase(name);
  return names;
}

}  // namespace

Result<Module> lower(Module module) {
  Diagnostics errors;
  Kernels kernels(module);
  std::map<std::string, tir::PrimFunc> hosts;
  for (const std::string& name : entries(module)) {
    HostProgram program;
    auto host = HostLowering(module.functions.at(name), name, module, kernels, program).run();
    if (host) {
      hosts.emplace(name, std::move(*host));
    } else {
      errors.add(std::move(host).error());
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  std::erase_if(module.functions,
                [](const auto& entry) { return relay::is_optimizable(entry.second); });
  module.prim_funcs.merge(hosts);
  return module;
}

}  // namespace tessera::lower
