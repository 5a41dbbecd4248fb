// SPDX-License-Identifier: Apache-2.0
#include "lower/shape_function.h"

#include <functional>
#include <map>

#include <fmt/ranges.h>

#include "relay/evaluation_order.h"
#include "relay/inline_literals.h"
#include "relay/operator.h"
#include "tir/dim_vars.h"
#include "tir/names.h"
#include "tir/simplify.h"
#include "tir/stmt.h"
#include "tir/walk.h"
#include "types/dim_expr.h"

namespace tessera::lower {
namespace {

using relay::Function;
using relay::NodeId;
using tir::Expr;

// Sizes are computed as `Dim`s over made-up symbols, each of which stands for an expression: the
// load of a size, or a choice that a `Dim` cannot express.
class Sizes {
 public:
  // A size with a name of its own is the same wherever it occurs.
  Dim loaded(const Dim& dim, Expr load) {
    if (dim.is_constant()) return dim;
    if (dim.is_unknown()) return fresh(std::move(load));
    const auto [it, added] = named_.try_emplace(dim.expression_text());
    if (added) it->second = fresh(std::move(load));
    return it->second;
  }

  Dim fresh(Expr value) {
    std::string name = fmt::format("size_{}", values_.size());
    values_.emplace(name, std::move(value));
    return Dim::symbol(std::move(name));
  }

  Expr expr(const Dim& dim) const {
    if (const auto n = dim.as_constant()) return Expr(*n);
    Expr sum(0);
    for (const DimTerm& term : dim.expr()->terms) {
      Expr product(term.coefficient);
      for (const DimAtomRef& factor : term.factors) product = product * atom(*factor);
      sum = sum + product;
    }
    return sum;
  }

 private:
  Expr atom(const DimAtom& a) const {
    switch (a.op) {
      case DimOp::kSymbol:
        return values_.at(a.name);
      case DimOp::kFloorDiv:
        return tir::floor_div(expr(a.a), expr(a.b));
      case DimOp::kFloorMod:
        return tir::floor_mod(expr(a.a), expr(a.b));
      case DimOp::kMin:
        return tir::min(expr(a.a), expr(a.b));
      case DimOp::kMax:
        return tir::max(expr(a.a), expr(a.b));
    }
    TESSERA_UNREACHABLE();
  }

  std::map<std::string, Expr> values_;  // by symbol
  std::map<std::string, Dim> named_;    // by the text of the size
};

// Replaces reads of operands by what their data are.
class DataReader : public tir::Mutator {
 public:
  using Data = std::function<Expr(std::size_t operand, const std::vector<Expr>& index)>;
  DataReader(const std::vector<tir::TensorExpr>& operands, Data data)
      : operands_(operands), data_(std::move(data)) {}

  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const Expr inner = Mutator::mutate(e);
    const auto* read = inner.as<tir::Read>();
    if (read == nullptr) return inner;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (operands_[k].ref() == read->tensor) return data_(k, read->indices);
    }
    TESSERA_UNREACHABLE("a shape reads `{}`, which is no operand", read->tensor->name);
  }

 private:
  const std::vector<tir::TensorExpr>& operands_;
  Data data_;
};

class Derivation {
 public:
  // `f` is free of calls of literals.
  Derivation(const Function& f, const ConstantPool& pool)
      : f_(f),
        pool_(pool),
        needed_(f.num_nodes()),
        data_needed_(f.num_nodes()),
        types_(f.num_nodes()) {}

  Result<ShapeFunction> run() {
    TESSERA_TRY_VOID(find_needs());
    declare_inputs();
    for (const NodeId id : relay::evaluation_order(f_)) {
      if (const relay::Operator* op = f_.op(id)) out_.operators.emplace_back(op->name);
      if (needed_[id.index()]) TESSERA_TRY_VOID(define(id));
    }
    store_outputs();
    out_.func.attrs["ops"] = fmt::format("{}", fmt::join(out_.operators, " "));
    if (f_.location) out_.func.sources.push_back(f_.location);
    out_.func = tir::simplify(out_.func);
    return std::move(out_);
  }

 private:
  // Backwards from the result, whose shape is needed: users come after what they use.
  Result<void> find_needs() {
    needed_[f_.result().index()] = true;
    Diagnostics errors;
    for (std::size_t i = f_.num_nodes(); i-- > 0;) {
      const NodeId id{i};
      if (!needed_[i]) continue;
      const relay::Operator* op = f_.op(id);
      const auto operands = f_.operands(id);
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const auto need = op == nullptr || k >= std::size(op->shape_need) ? relay::ShapeNeed::kShape
                                                                          : op->shape_need[k];
        if (need == relay::ShapeNeed::kNothing) continue;
        if (need == relay::ShapeNeed::kShape) {
          needed_[operands[k].index()] = true;
        } else if (!can_read(operands[k])) {
          errors.add(error(Code::kNotSupported, f_[id].location,
                           "the size of the result of `{}` depends on data that are computed at "
                           "run time, which no shape function can follow",
                           op->name));
        }
      }
    }
    if (!errors.empty()) return fail(std::move(errors));
    return {};
  }

  // Constants, and parameters, whose data are needed then.
  bool can_read(NodeId operand) {
    const NodeId id = relay::behind_lets(f_, operand);
    if (f_.as<relay::Constant>(id) != nullptr) return true;
    const Type& type = f_.type(id);
    if (f_.as<relay::Param>(id) == nullptr || !type.is_tensor() || is_dynamic(type)) return false;
    data_needed_[id.index()] = true;
    return true;
  }

  void declare_inputs() {
    for (const NodeId param : f_.params()) {
      const bool data = data_needed_[param.index()], shape = needed_[param.index()];
      out_.states.push_back((data ? 1 : 0) + (shape ? 2 : 0));
      const std::string& name = f_.as<relay::Param>(param)->name;
      if (data) {
        const Type& type = f_.type(param);
        std::vector<Expr> extents;
        for (const Dim& dim : type.shape()) extents.emplace_back(dim.constant());
        data_.emplace(param,
                      tir::make_buffer(tir::identifier(name), type.dtype(), std::move(extents)));
        out_.func.inputs.push_back(data_.at(param));
      }
      if (!shape) continue;
      std::size_t number = 0;
      types_[param.index()] = with_loads(f_.type(param), name, number);
    }
  }

  // The type with symbols for its sizes, tensor by tensor.
  Type with_loads(const Type& type, const std::string& name, std::size_t& number) {
    if (type.is_tuple()) {
      std::vector<Type> fields;
      for (const Type& field : type.fields()) fields.push_back(with_loads(field, name, number));
      return tuple_type(std::move(fields));
    }
    const std::string suffix = number == 0 ? "" : fmt::format("_{}", number);
    ++number;
    const tir::Buffer sizes =
        shape_vector(tir::identifier(fmt::format("{}{}_shape", name, suffix)), type.rank());
    out_.func.inputs.push_back(sizes);
    Shape shape;
    for (std::size_t i = 0; i < type.rank(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      shape.push_back(sizes_.loaded(type.shape()[i], tir::load(sizes, {Expr(at)})));
    }
    return tensor_type(std::move(shape), type.dtype());
  }

  static tir::Buffer shape_vector(std::string name, std::size_t rank) {
    std::vector<Expr> extent;
    if (rank > 0) extent.emplace_back(static_cast<std::int64_t>(rank));
    return tir::make_buffer(std::move(name), kInt64, std::move(extent));
  }

  Result<void> define(NodeId id) {
    const auto operands = f_.operands(id);
    Type& type = types_[id.index()];
    if (const auto* constant = f_.as<relay::Constant>(id)) {
      type = pool_.resolve(constant->value).type();
    } else if (f_.as<relay::OpCall>(id) != nullptr) {
      TESSERA_TRY(type, type_of_call(id));
    } else if (f_.as<relay::Tuple>(id) != nullptr) {
      type = tuple_type(operand_types(id));
    } else if (const auto* project = f_.as<relay::Project>(id)) {
      type = types_[operands[0].index()].fields()[static_cast<std::size_t>(project->index)];
    } else if (f_.as<relay::Let>(id) != nullptr) {
      type = types_[operands[0].index()];
    } else if (f_.as<relay::Param>(id) == nullptr) {
      return fail(error(Code::kNotSupported, f_[id].location,
                        "a shape function follows calls of operators and function literals only"));
    }
    return {};
  }

  // Where only data are of interest there is no symbolic type; the inferred one stands in.
  std::vector<Type> operand_types(NodeId id) const {
    std::vector<Type> types;
    for (const NodeId o : f_.operands(id)) {
      types.push_back(types_[o.index()] ? types_[o.index()] : f_.type(o));
    }
    return types;
  }

  Result<Type> type_of_call(NodeId id) {
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    const std::vector<Type> types = operand_types(id);
    std::vector<const Tensor*> values;
    for (const NodeId o : f_.operands(id)) {
      const auto* constant = f_.as<relay::Constant>(o);
      values.push_back(constant != nullptr ? &pool_.resolve(constant->value) : nullptr);
    }
    TESSERA_TRY(Type type,
                call.op->infer({types, values, call.attrs, f_[id].location, call.op->name}));
    if (call.op->pattern == relay::OpPattern::kBroadcast) type = broadcast(type, types);
    if (call.op->shape != nullptr && is_dynamic(type))
      type = by_definition(id, type, types, values);
    for (const Type& part : flatten(type)) {
      for (const Dim& dim : part.shape()) {
        if (!dim.is_unknown()) continue;
        return fail(error(Code::kNotSupported, f_[id].location,
                          "`{}` has no shape function: its result would be {}", call.op->name,
                          to_string(type)));
      }
    }
    return type;
  }

  // Sizes that depend on data, as the operator defines them.
  Type by_definition(NodeId id, const Type& type, const std::vector<Type>& types,
                     const std::vector<const Tensor*>& values) {
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    std::vector<tir::TensorExpr> operands;
    for (const Type& t : types) {
      std::vector<Expr> shape;
      for (const Dim& dim : t.shape()) shape.push_back(sizes_.expr(dim));
      operands.push_back(tir::input_tensor("operand", std::move(shape), t.dtype()));
    }
    tir::DimVars no_symbols;
    const tir::TensorExpr sizes =
        call.op->shape({operands, types, values, call.attrs, type, no_symbols})[0];
    DataReader reader(operands, [&](std::size_t k, const std::vector<Expr>& index) {
      if (values[k] != nullptr) return element(*values[k], index);
      return tir::load(data_.at(relay::behind_lets(f_, f_.operands(id)[k])), index);
    });
    Shape shape;
    for (std::size_t k = 0; k < type.rank(); ++k) {
      const Expr size = tir::substitute(
          sizes->body, {{sizes->axes[0].get(), Expr(static_cast<std::int64_t>(k))}});
      shape.push_back(sizes_.fresh(reader.mutate(size)));
    }
    return tensor_type(std::move(shape), type.dtype());
  }

  static Expr element(const Tensor& t, const std::vector<Expr>& index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) at = at * t.shape[d] + *tir::as_int(index[d]);
    if (t.dtype.is_float()) return tir::float_imm(element_as_double(t, at), t.dtype);
    return tir::int_imm(element_as_int(t, at), t.dtype);
  }

  // Of two sizes that may both be 1, the one that is not; inference leaves such open.
  Type broadcast(const Type& type, const std::vector<Type>& operands) {
    if (!type.is_tensor()) return type;
    Shape shape = type.shape();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!shape[i].is_unknown()) continue;
      Expr size(1);
      for (const Type& operand : operands) {
        if (!operand.is_tensor() || operand.rank() + i < shape.size()) continue;
        const Expr other = sizes_.expr(operand.shape()[operand.rank() + i - shape.size()]);
        size = tir::is_int(size, 1) ? other : tir::select(tir::eq(size, Expr(1)), other, size);
      }
      shape[i] = sizes_.fresh(size);
    }
    return tensor_type(std::move(shape), type.dtype());
  }

  void store_outputs() {
    std::vector<tir::Stmt> stores;
    const std::vector<Type> parts = flatten(types_[f_.result().index()]);
    for (std::size_t t = 0; t < parts.size(); ++t) {
      const std::string name =
          parts.size() == 1 ? "result_shape" : fmt::format("result_{}_shape", t);
      const tir::Buffer out = shape_vector(name, parts[t].rank());
      out_.func.outputs.push_back(out);
      for (std::size_t i = 0; i < parts[t].rank(); ++i) {
        stores.push_back(tir::Store::make(out,
                                          std::vector<Expr>{Expr(static_cast<std::int64_t>(i))},
                                          sizes_.expr(parts[t].shape()[i])));
      }
    }
    out_.func.body = tir::seq(std::move(stores));
  }

  const Function& f_;
  const ConstantPool& pool_;
  std::vector<bool> needed_;       // its shape, by node
  std::vector<bool> data_needed_;  // of parameters
  std::map<NodeId, tir::Buffer> data_;
  std::vector<Type> types_;  // with symbols, of the nodes that are needed
  Sizes sizes_;
  ShapeFunction out_;
};

}  // namespace

Result<ShapeFunction> derive_shape_function(const Function& f, const ConstantPool& pool) {
  return Derivation(relay::inline_literals(f), pool).run();
}

std::vector<std::string> operator_names(const Function& f) {
  std::vector<std::string> names;
  for (const NodeId id : relay::evaluation_order(f)) {
    if (const relay::Operator* op = f.op(id)) names.emplace_back(op->name);
  }
  return names;
}

}  // namespace tessera::lower
