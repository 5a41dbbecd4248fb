// SPDX-License-Identifier: Apache-2.0
#include "lower/kernels.h"

#include "lower/names.h"
#include "tir/compare.h"
#include "tir/expr_ops.h"
#include "tir/names.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

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

// The sizes of a type for a kernel's name; -1 for what is known at run time.
std::vector<std::int64_t> sizes_for_name(const Type& type) {
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : type.shape()) sizes.push_back(dim.as_constant().value_or(-1));
  return sizes;
}

}  // namespace

std::vector<tir::Buffer> temporaries_of(const tir::PrimFunc& kernel) {
  std::vector<tir::Buffer> found;
  tir::BlockWalk definitions(kernel.body);
  for (const tir::Stmt* s = definitions.next(); s != nullptr; s = definitions.next()) {
    if (tir::scope_of(*s) == nullptr) break;
    const auto* memory = s->as<tir::Allocate>();
    if (memory != nullptr && memory->buffer->scope == tir::MemoryScope::kGlobal) {
      found.push_back(memory->buffer);
    }
  }
  return found;
}

tir::PrimFunc for_cpu(tir::PrimFunc kernel) {
  tir::BufferMap on_stack;
  for (const tir::Buffer& b : temporaries_of(kernel)) {
    on_stack[b.get()] = tir::make_buffer(b->name, b->dtype, b->shape, tir::MemoryScope::kStack);
  }
  if (!on_stack.empty()) kernel.body = tir::substitute(kernel.body, {}, on_stack);
  kernel.attrs["schedule"] = "none";
  kernel.attrs["target"] = "cpu";
  return tir::simplify(kernel);
}

bool is_for_cpu(const tir::PrimFunc& kernel) {
  const auto target = kernel.attrs.find("target");
  return target != kernel.attrs.end() && target->second == "cpu";
}

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

std::string Kernels::symbol_of(tir::PrimFunc kernel) {
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
  if (is_for_cpu(kernel)) e.space = MemorySpace();
  e.inputs = types_of(kernel.inputs);
  e.outputs = types_of(kernel.outputs);
  e.operators = words(kernel.attrs["ops"]);
  e.sources = kernel.sources;
  module_.externs.emplace(symbol, std::move(e));
  module_.prim_funcs.emplace(symbol, std::move(kernel));
  same_hash.push_back(symbol);
  return symbol;
}

std::string Kernels::fresh_symbol(const tir::PrimFunc& kernel) {
  const Type first = kernel.outputs.empty() ? tensor_type({}, kFloat32)
                                            : types_of({kernel.outputs.front()}).front();
  const auto ops = kernel.attrs.find("ops");
  const auto operators =
      ops == kernel.attrs.end() ? std::vector<std::string>{} : words(ops->second);
  while (true) {  // a function of the model may have such a name
    std::string symbol = kernel_symbol(number_++, operators, first.dtype(), sizes_for_name(first));
    if (!module_.prim_funcs.contains(symbol) && !module_.externs.contains(symbol) &&
        !module_.functions.contains(symbol)) {
      return symbol;
    }
  }
}

}  // namespace tessera::lower
