// SPDX-License-Identifier: Apache-2.0
#include "lower/shape_function.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "lower/kernels.h"
#include "lower/size_derivation.h"
#include "lower/specialise.h"
#include "relay/evaluation_order.h"
#include "relay/inline_literals.h"
#include "relay/operator.h"
#include "relay/shape_needs.h"
#include "tir/dim_vars.h"
#include "tir/names.h"
#include "tir/simplify.h"

namespace tessera::lower {
namespace {

using relay::Function;
using relay::NodeId;
using tir::Expr;

// A dense tensor of a parameter, whose sizes may be formal dimensions.
tir::Buffer data_buffer(const Function& f, NodeId param, tir::DimVars& dims) {
  const Type& type = f.type(param);
  return tir::make_buffer(tir::identifier(f.as<relay::Param>(param)->name), type.dtype(),
                          dims.shape(type.shape()));
}

void describe(tir::PrimFunc& func, const Function& f) {
  func.attrs["ops"] = fmt::format("{}", fmt::join(operator_names(f), " "));
  if (f.location) func.sources.push_back(f.location);
}

// Inputs are what relay-spec 7.4 says: data and vectors of sizes.
class ShapeFunctionBuilder {
 public:
  // `f` is free of calls of literals.
  ShapeFunctionBuilder(const Function& f, const ConstantPool& pool)
      : f_(f),
        derivation_(f, pool,
                    {[this](const std::string& symbol) { return loads_.at(symbol); },
                     [this](NodeId param) { return data_.at(param); },
                     [this] { return fresh_symbol(); }}) {}

  Result<ShapeFunction> run() {
    TESSERA_TRY(out_.states, derivation_.find_needs());
    for (std::size_t i = 0; i < f_.params().size(); ++i) {
      TESSERA_TRY_VOID(declare(f_.params()[i], out_.states[i]));
    }
    TESSERA_TRY_VOID(derivation_.derive());
    store_outputs();
    out_.operators = operator_names(f_);
    describe(out_.func, f_);
    out_.func = tir::simplify(out_.func);
    return std::move(out_);
  }

 private:
  Result<void> declare(NodeId param, int state) {
    const std::string& name = f_.as<relay::Param>(param)->name;
    Type type = f_.type(param);
    std::vector<tir::Buffer> vectors;
    if ((state & 2) != 0) {
      std::size_t number = 0;
      type = with_loads(type, name, number, vectors);
      derivation_.set_type(param, type);
    }
    if ((state & 1) != 0) {
      tir::DimVars no_dims;
      if (is_dynamic(f_.type(param))) {
        return fail(error(Code::kNotSupported, f_[param].location,
                          "a shape function reads `%{}`, whose size is only known at run time",
                          name));
      }
      data_.emplace(param, data_buffer(f_, param, no_dims));
      out_.func.inputs.push_back(data_.at(param));
    }
    out_.func.inputs.insert(out_.func.inputs.end(), vectors.begin(), vectors.end());
    return {};
  }

  // The type with symbols for its sizes, tensor by tensor.
  Type with_loads(const Type& type, const std::string& name, std::size_t& number,
                  std::vector<tir::Buffer>& vectors) {
    if (type.is_tuple()) {
      std::vector<Type> fields;
      for (const Type& field : type.fields()) {
        fields.push_back(with_loads(field, name, number, vectors));
      }
      return tuple_type(std::move(fields));
    }
    const std::string suffix = number == 0 ? "" : fmt::format("_{}", number);
    ++number;
    vectors.push_back(
        shape_vector(tir::identifier(fmt::format("{}{}_shape", name, suffix)), type.rank()));
    Shape shape;
    for (std::size_t i = 0; i < type.rank(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      shape.push_back(loaded(type.shape()[i], tir::load(vectors.back(), {Expr(at)})));
    }
    return tensor_type(std::move(shape), type.dtype());
  }

  // A size with a name of its own is the same wherever it occurs.
  Dim loaded(const Dim& dim, Expr load) {
    if (dim.is_constant()) return dim;
    std::string symbol = dim.is_unknown() ? fresh_symbol() : "";
    if (!dim.is_unknown()) {
      const auto [it, added] = named_.try_emplace(dim.expression_text());
      if (added) it->second = fresh_symbol();
      symbol = it->second;
    }
    loads_.emplace(symbol, std::move(load));
    return Dim::symbol(std::move(symbol));
  }

  std::string fresh_symbol() { return fmt::format("size_{}", next_size_++); }

  static tir::Buffer shape_vector(std::string name, std::size_t rank) {
    std::vector<Expr> extent;
    if (rank > 0) extent.emplace_back(static_cast<std::int64_t>(rank));
    return tir::make_buffer(std::move(name), kInt64, std::move(extent));
  }

  void store_outputs() {
    std::vector<tir::Stmt> stores;
    const std::vector<Type> parts = flatten(derivation_.type(f_.result()));
    for (std::size_t t = 0; t < parts.size(); ++t) {
      const std::string name =
          parts.size() == 1 ? "result_shape" : fmt::format("result_{}_shape", t);
      const tir::Buffer out = shape_vector(name, parts[t].rank());
      out_.func.outputs.push_back(out);
      for (std::size_t i = 0; i < parts[t].rank(); ++i) {
        stores.push_back(tir::Store::make(out,
                                          std::vector<Expr>{Expr(static_cast<std::int64_t>(i))},
                                          derivation_.expr(parts[t].shape()[i])));
      }
    }
    out_.func.body = derivation_.around(tir::seq(std::move(stores)));
  }

  const Function& f_;
  std::map<NodeId, tir::Buffer> data_;
  std::map<std::string, Expr> loads_;         // by symbol
  std::map<std::string, std::string> named_;  // symbols, by the text of the size
  int next_size_ = 0;
  SizeDerivation derivation_;
  ShapeFunction out_;
};

// The type with a symbol for each `?`.
Type named_sizes(const Type& type, const std::function<std::string()>& fresh_symbol) {
  if (type.is_tuple()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields()) fields.push_back(named_sizes(field, fresh_symbol));
    return tuple_type(std::move(fields));
  }
  Shape shape = type.shape();
  for (Dim& dim : shape) {
    if (dim.is_unknown()) dim = Dim::symbol(fresh_symbol());
  }
  return tensor_type(std::move(shape), type.dtype());
}

}  // namespace

Result<ShapeFunction> derive_shape_function(const Function& f, const ConstantPool& pool) {
  return ShapeFunctionBuilder(relay::inline_literals(f), pool).run();
}

bool needs_run_time_sizes(const Function& f, std::span<const NodeId> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    if (f.op(id) == nullptr) return false;
    std::vector<Type> operands;
    for (const NodeId operand : f.operands(id)) operands.push_back(f.type(operand));
    return relay::has_unknown_size(f.type(id)) ||
           has_open_broadcast(*f.op(id), operands, f.type(id)) ||
           has_open_definition(f, id, operands) || !open_agreements(f, id, operands).empty() ||
           !open_sizes(f.type(id), operands).empty();
  });
}

bool needs_run_time_sizes(const Function& f) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) nodes.emplace_back(i);
  return needs_run_time_sizes(f, nodes);
}

Result<RunTimeSizes> derive_run_time_sizes(const Function& function, const ConstantPool& pool,
                                           std::function<std::string()> fresh_symbol) {
  RunTimeSizes out;
  out.function = relay::inline_literals(function);
  const Function& f = out.function;
  tir::DimVars dims;
  std::map<NodeId, tir::Buffer> data;
  SizeDerivation derivation(
      f, pool,
      {[&](const std::string& symbol) { return dims.expr(Dim::symbol(symbol)); },
       [&](NodeId param) { return data.at(param); }, std::move(fresh_symbol)});
  TESSERA_TRY(const std::vector<int> needs, derivation.find_needs());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if ((needs[i] & 1) == 0) continue;
    const NodeId param = f.params()[i];
    data.emplace(param, data_buffer(f, param, dims));
    out.func.inputs.push_back(data.at(param));
    out.data.push_back(i);
  }
  TESSERA_TRY_VOID(derivation.derive());
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    out.function.set_type(NodeId(i), derivation.type(NodeId(i)));
  }
  if (derivation.is_trivial()) return out;
  std::vector<tir::Stmt> stores;
  const auto count = static_cast<std::int64_t>(derivation.sizes().size());
  const tir::Buffer sizes = tir::make_buffer("sizes", kInt64, {Expr(count)});
  for (const SizeDerivation::Size& size : derivation.sizes()) {
    stores.push_back(tir::Store::make(
        sizes, std::vector<Expr>{Expr(static_cast<std::int64_t>(stores.size()))}, size.var));
    out.symbols.push_back(size.symbol);
  }
  if (count > 0) out.func.outputs = {sizes};
  out.func.body = derivation.around(tir::seq(std::move(stores)));
  for (const auto& formal : dims.formals()) {
    out.func.dims.push_back(formal.var);
    out.dims.push_back(formal.dim);
  }
  describe(out.func, f);
  out.func.attrs["ops"] = "sizes_of " + out.func.attrs["ops"];
  out.func = for_cpu(std::move(out.func));
  return out;
}

Result<Function> with_names_for_sizes(const Function& f, const ConstantPool& pool) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    for (const Type& type : flatten(f.type(NodeId(i)))) {
      for (const Dim& dim : type.shape()) {
        for (const std::string& symbol : dim.symbols()) taken.insert(symbol);
      }
    }
  }
  const auto fresh_symbol = [&] {
    std::size_t number = taken.size();
    while (!taken.insert(fmt::format("size_{}", number)).second) ++number;
    return fmt::format("size_{}", number);
  };
  std::vector<Type> params;
  bool has_names = true;
  for (const NodeId param : f.params()) {
    has_names = has_names && !relay::has_unknown_size(f.type(param));
    params.push_back(named_sizes(f.type(param), fresh_symbol));
  }
  Function named = f;
  if (!has_names) {
    TESSERA_TRY(named, specialise(f, Function::kBody, params, pool));
  }
  if (!needs_run_time_sizes(named)) return named;
  TESSERA_TRY(RunTimeSizes sizes, derive_run_time_sizes(named, pool, fresh_symbol));
  return std::move(sizes.function);
}

std::vector<std::string> operator_names(const Function& f) {
  std::vector<std::string> names;
  for (const NodeId id : relay::evaluation_order(f)) {
    if (const relay::Operator* op = f.op(id)) names.emplace_back(op->name);
  }
  return names;
}

}  // namespace tessera::lower
