// SPDX-License-Identifier: Apache-2.0
#include "lower/size_derivation.h"

#include <algorithm>
#include <optional>

#include "relay/evaluation_order.h"
#include "relay/operator.h"
#include "relay/shape_needs.h"
#include "tir/dim_vars.h"
#include "tir/expr_ops.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using relay::NodeId;
using tir::Expr;

// Replaces reads of tensor definitions.
class ReadReplacer : public tir::Mutator {
 public:
  using Replace = std::function<Expr(const tir::Read&, ReadReplacer&)>;
  explicit ReadReplacer(Replace replace) : replace_(std::move(replace)) {}

  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const Expr inner = Mutator::mutate(e);
    const auto* read = inner.as<tir::Read>();
    return read == nullptr ? inner : replace_(*read, *this);
  }

 private:
  Replace replace_;
};

Expr element(const Tensor& t, const std::vector<Expr>& index) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < index.size(); ++d) at = at * t.shape[d] + *tir::as_int(index[d]);
  if (t.dtype.is_float()) return tir::float_imm(element_as_double(t, at), t.dtype);
  return tir::int_imm(element_as_int(t, at), t.dtype);
}

// How many dimensions of the operands numpy's rule does not broadcast, counted from the end;
// nothing where it broadcasts none. Operators without attributes that broadcast do so by that rule,
// all operands alike; products do so with their batches, and `broadcast_to` with what it makes.
std::optional<std::size_t> dimensions_apart(const relay::Operator& op) {
  if (op.name == "nn.matmul" || op.name == "nn.batch_matmul") return 2;
  if (op.name == "broadcast_to") return 0;
  const bool is_numpy_broadcast = op.pattern == relay::OpPattern::kBroadcast &&
                                  op.shape == nullptr && op.attrs == relay::Operator{}.attrs &&
                                  op.operands.size() > 1;
  return is_numpy_broadcast ? std::optional<std::size_t>(0) : std::nullopt;
}

// The sizes other than 1 that meet in dimension `axis` of a result of `rank`, each once.
std::vector<Dim> sizes_that_meet(const std::vector<Type>& operands, std::size_t rank,
                                 std::size_t axis) {
  std::vector<Dim> sizes;
  for (const Type& t : operands) {
    if (!t.is_tensor() || t.rank() + axis < rank) continue;
    const Dim& size = t.shape()[t.rank() + axis - rank];
    const bool known =
        !size.is_unknown() && std::find(sizes.begin(), sizes.end(), size) != sizes.end();
    if (!(size == Dim(1)) && !known) sizes.push_back(size);
  }
  return sizes;
}

// What numpy's rule is applied to: `broadcast_to` names the shape to reach in place of an operand.
std::vector<Type> broadcast_together(const relay::Operator& op, std::vector<Type> operands,
                                     const Type& result) {
  if (op.name == "broadcast_to") operands.push_back(result);
  return operands;
}

std::size_t max_rank(const std::vector<Type>& operands) {
  std::size_t rank = 0;
  for (const Type& t : operands) {
    if (t.is_tensor()) rank = std::max(rank, t.rank());
  }
  return rank;
}

}  // namespace

Type with_numbers_of(const Type& known, const Type& type) {
  if (type.is_tuple()) {
    std::vector<Type> fields;
    for (std::size_t i = 0; i < type.fields().size(); ++i) {
      fields.push_back(with_numbers_of(known.fields()[i], type.fields()[i]));
    }
    return tuple_type(std::move(fields));
  }
  Shape shape = type.shape();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is_unknown() && known.shape()[d].is_constant()) shape[d] = known.shape()[d];
  }
  return tensor_type(std::move(shape), type.dtype());
}

bool has_open_broadcast(const relay::Operator& op, const std::vector<Type>& operands,
                        const Type& result) {
  const auto apart = dimensions_apart(op);
  if (!apart) return false;
  const std::vector<Type> together = broadcast_together(op, operands, result);
  const std::size_t rank = max_rank(together);
  for (std::size_t i = 0; i + *apart < rank; ++i) {
    if (sizes_that_meet(together, rank, i).size() > 1) return true;
  }
  return false;
}

bool has_open_definition(const relay::Function& f, NodeId call, const std::vector<Type>& operands) {
  const relay::Operator& op = *f.op(call);
  if (op.shape == nullptr) return false;
  if (relay::has_unknown_size(f.type(call))) return true;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool is_data = relay::shape_need_of(op, k) == relay::ShapeNeed::kData;
    const NodeId operand = relay::behind_lets(f, f.operands(call)[k]);
    if (is_dynamic(operands[k])) return true;
    if (is_data && f.as<relay::Constant>(operand) == nullptr) return true;
  }
  return false;
}

std::vector<Dim> open_sizes(const Type& result, const std::vector<Type>& operands) {
  std::vector<Dim> open;
  for (const Type& tensor : flatten(result)) {
    for (const Dim& size : tensor.shape()) {
      if (!size.is_symbolic() || max(size, Dim(0)) == size) continue;
      const bool is_old = std::any_of(operands.begin(), operands.end(), [&](const Type& type) {
        const std::vector<Type> parts = flatten(type);
        return std::any_of(parts.begin(), parts.end(), [&](const Type& part) {
          return std::find(part.shape().begin(), part.shape().end(), size) != part.shape().end();
        });
      });
      if (!is_old) open.push_back(size);
    }
  }
  return open;
}

std::vector<relay::Agreement> open_agreements(const relay::Function& f, NodeId call,
                                              const std::vector<Type>& operands) {
  std::vector<relay::Agreement> agreements;
  if (std::none_of(operands.begin(), operands.end(), is_dynamic)) return agreements;
  const auto& c = *f.as<relay::OpCall>(call);
  const std::vector<const Tensor*> no_values(operands.size());
  // Its type was inferred before, by more than this; what it notes on the way matters here.
  (void)c.op->infer({operands, no_values, c.attrs, f[call].location, c.op->name, {}, &agreements});
  return agreements;
}

SizeDerivation::SizeDerivation(const relay::Function& f, const ConstantPool& pool,
                               SizeSource source)
    : f_(f),
      pool_(pool),
      source_(std::move(source)),
      needed_(f.num_nodes()),
      data_needed_(f.num_nodes()),
      types_(f.num_nodes()) {}

// Backwards from the result, whose shape is needed: users come after what they use.
Result<std::vector<int>> SizeDerivation::find_needs() {
  needed_[f_.result().index()] = true;
  Diagnostics errors;
  for (std::size_t i = f_.num_nodes(); i-- > 0;) {
    const NodeId id{i};
    if (!needed_[i]) continue;
    const relay::Operator* op = f_.op(id);
    const auto operands = f_.operands(id);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto need = op == nullptr ? relay::ShapeNeed::kShape : relay::shape_need_of(*op, k);
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
  std::vector<int> needs;
  for (const NodeId param : f_.params()) {
    needs.push_back((data_needed_[param.index()] ? 1 : 0) + (needed_[param.index()] ? 2 : 0));
  }
  return needs;
}

// Constants, lists of sizes, and parameters, whose data are needed then.
bool SizeDerivation::can_read(NodeId operand) {
  const NodeId id = relay::behind_lets(f_, operand);
  if (relay::has_no_inputs(f_, id)) return true;
  if (f_.as<relay::Param>(id) == nullptr || !f_.type(id).is_tensor()) return false;
  data_needed_[id.index()] = true;
  return true;
}

Result<void> SizeDerivation::derive() {
  for (const NodeId id : relay::evaluation_order(f_)) {
    if (needed_[id.index()]) TESSERA_TRY_VOID(define(id));
  }
  return {};
}

Result<void> SizeDerivation::define(NodeId id) {
  const auto operands = f_.operands(id);
  Type& type = types_[id.index()];
  if (const auto* constant = f_.as<relay::Constant>(id)) {
    type = pool_.resolve(constant->value).type();
  } else if (f_.as<relay::OpCall>(id) != nullptr) {
    TESSERA_TRY(type, type_of_call(id));
  } else if (f_.as<relay::Tuple>(id) != nullptr) {
    type = tuple_type(operand_types(id));
  } else if (const auto* project = f_.as<relay::Project>(id)) {
    type = this->type(operands[0]).fields()[static_cast<std::size_t>(project->index)];
  } else if (f_.as<relay::Let>(id) != nullptr) {
    type = this->type(operands[0]);
  } else if (f_.as<relay::Param>(id) == nullptr) {
    return fail(error(Code::kNotSupported, f_[id].location,
                      "a shape function follows calls of operators and function literals only"));
  }
  return {};
}

// Where only data are of interest there is no type of its own; the inferred one stands in.
std::vector<Type> SizeDerivation::operand_types(NodeId id) const {
  std::vector<Type> types;
  for (const NodeId o : f_.operands(id)) types.push_back(type(o));
  return types;
}

Result<Type> SizeDerivation::type_of_call(NodeId id) {
  const relay::OpCall& call = *f_.as<relay::OpCall>(id);
  const std::vector<Type> types = operand_types(id);
  std::vector<const Tensor*> values;
  bool as_before = true;
  for (std::size_t k = 0; k < types.size(); ++k) {
    const NodeId o = f_.operands(id)[k];
    const auto* constant = f_.as<relay::Constant>(o);
    values.push_back(constant != nullptr ? &pool_.resolve(constant->value) : nullptr);
    as_before = as_before && types[k] == f_.type(o);
  }
  Type type = f_.type(id);
  std::vector<relay::Agreement> agreements;
  if (!as_before || relay::has_unknown_size(type)) {
    TESSERA_TRY(type,
                call.op->infer(
                    {types, values, call.attrs, f_[id].location, call.op->name, {}, &agreements}));
    type = with_numbers_of(f_.type(id), type);
  } else {
    agreements = open_agreements(f_, id, types);
  }
  for (const relay::Agreement& a : agreements) agree(id, a);
  if (has_open_broadcast(*call.op, types, type)) {
    type = broadcast(id, type, broadcast_together(*call.op, types, type));
  }
  if (has_open_definition(f_, id, types)) type = by_definition(id, type, types, values);
  for (const Dim& size : open_sizes(type, types)) {
    require(tir::ge(expr(size), Expr(0)),
            fmt::format("`{}`: a dimension of its result would have {{}} elements (`{}`)",
                        call.op->name, size.expression_text()),
            {expr(size)});
  }
  if (!relay::has_unknown_size(type)) return type;
  return fail(error(Code::kNotSupported, f_[id].location,
                    "`{}` has no shape function: its result would be {}", call.op->name,
                    to_string(type)));
}

// Sizes that depend on data, as the operator defines them. What inference knows, or the model says,
// stays, and has to be that.
Type SizeDerivation::by_definition(NodeId id, const Type& type, const std::vector<Type>& types,
                                   const std::vector<const Tensor*>& values) {
  const relay::OpCall& call = *f_.as<relay::OpCall>(id);
  std::vector<tir::TensorExpr> operands;
  for (const Type& t : types) {
    std::vector<Expr> shape;
    for (const Dim& dim : t.shape()) shape.push_back(expr(dim));
    operands.push_back(tir::input_tensor("operand", std::move(shape), t.dtype()));
  }
  tir::DimVars no_symbols;
  const tir::TensorExpr sizes =
      call.op->shape({operands, types, values, call.attrs, type, no_symbols})[0];
  ReadReplacer reads([&](const tir::Read& r, ReadReplacer& self) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (operands[k].ref() == r.tensor) return read(f_.operands(id)[k], values[k], r.indices);
    }
    return total_of(r.tensor, [&](const Expr& e) { return self.mutate(e); });
  });
  Shape shape;
  for (std::size_t k = 0; k < type.rank(); ++k) {
    // The size of this dimension alone, before reads become sums over data.
    const Expr size = reads.mutate(tir::simplify(tir::substitute(
        sizes->body, {{sizes->axes[0].get(), Expr(static_cast<std::int64_t>(k))}})));
    if (!type.shape()[k].is_unknown()) {
      shape.push_back(type.shape()[k]);
      must_be(id, k, size, type.shape()[k]);
      continue;
    }
    shape.push_back(fresh(size));
    if (shape.back().is_constant()) continue;
    const Expr& var = sizes_.back().var;
    require(tir::ge(var, Expr(0)),
            fmt::format("`{}`: what says the size of its result gives {{}} for dimension {}, which "
                        "does not fit its operands",
                        call.op->name, k),
            {var});
  }
  return tensor_type(std::move(shape), type.dtype());
}

Expr SizeDerivation::read(NodeId operand, const Tensor* value, const std::vector<Expr>& index) {
  if (value != nullptr) return element(*value, index);
  const NodeId id = relay::behind_lets(f_, operand);
  if (f_.as<relay::Param>(id) != nullptr) return tir::load(source_.data(id), index);
  // A list of sizes, which has no operands.
  const relay::OpCall& call = *f_.as<relay::OpCall>(id);
  tir::DimVars dims;
  const tir::TensorExpr list = call.op->compute({{}, {}, {}, call.attrs, f_.type(id), dims})[0];
  tir::VarMap values;
  for (std::size_t d = 0; d < index.size(); ++d) values[list->axes[d].get()] = index[d];
  for (const auto& formal : dims.formals()) values[formal.var.get()] = expr(formal.dim);
  return tir::substitute(list->body, values);
}

// A reduction to one number, made in front.
Expr SizeDerivation::total_of(const tir::TensorRef& tensor, const std::function<Expr(Expr)>& read) {
  const auto* reduce = tensor->body.as<tir::Reduce>();
  TESSERA_CHECK(reduce != nullptr && tensor->shape.empty(), "a shape reads `{}`", tensor->name);
  const tir::Buffer total =
      tir::make_buffer(tensor->name, tensor->dtype, {}, tir::MemoryScope::kStack);
  const auto store = [&](Expr e) {
    return tir::Store::make(total, std::vector<Expr>{}, std::move(e));
  };
  tir::Stmt loops = store(tir::reduce_step(reduce->op, tir::load(total, {}), read(reduce->value)));
  for (std::size_t i = reduce->axes.size(); i-- > 0;) {
    const tir::IterAxis& axis = reduce->axes[i];
    loops = tir::For::make(axis.var, Expr(0), axis.extent, tir::ForKind::kSerial, loops);
  }
  const Expr identity = tir::reduce_identity(reduce->op, tensor->dtype);
  steps_.push_back({{}, {}, total, tir::seq({store(identity), loops})});
  return tir::load(total, {});
}

// Sizes that differ in name are equal at run time, or 1.
Type SizeDerivation::broadcast(NodeId id, const Type& type, const std::vector<Type>& operands) {
  Shape shape = type.shape();
  const std::size_t apart = *dimensions_apart(*f_.op(id));
  for (std::size_t i = 0; i + apart < shape.size(); ++i) {
    const std::vector<Dim> sizes = sizes_that_meet(operands, shape.size(), i);
    if (sizes.size() > 1) shape[i] = broadcast_size(id, i, shape[i], sizes);
  }
  return tensor_type(std::move(shape), type.dtype());
}

Dim SizeDerivation::broadcast_size(NodeId id, std::size_t axis, Dim known,
                                   const std::vector<Dim>& sizes) {
  Expr size = expr(sizes[0]);
  for (std::size_t k = 1; k < sizes.size(); ++k) {
    const Expr other = expr(sizes[k]);
    const Expr fits = tir::logical_or(
        tir::eq(size, other), tir::logical_or(tir::eq(size, Expr(1)), tir::eq(other, Expr(1))));
    require(fits,
            fmt::format("`{}`: its operands have {{}} and {{}} elements in dimension {}: sizes "
                        "that are broadcast must be equal, or one of them 1",
                        f_.op(id)->name, axis),
            {size, other});
    size = tir::select(tir::eq(size, Expr(1)), other, size);
  }
  if (known.is_unknown()) return fresh(size);
  // Inference takes the number: the other size is that or 1.
  must_be(id, axis, size, known);
  return known;
}

void SizeDerivation::must_be(NodeId id, std::size_t axis, const Expr& size, const Dim& known) {
  const Expr wanted = expr(known);
  if (tir::is_int(tir::simplify(tir::eq(size, wanted)), 1)) return;
  const std::string_view op = f_.op(id)->name;
  if (known.is_constant()) {
    return require(tir::eq(size, wanted),
                   fmt::format("`{}`: dimension {} of its result has {{}} elements, and must have "
                               "{}",
                               op, axis, to_string(known)),
                   {size});
  }
  require(tir::eq(size, wanted),
          fmt::format("`{}`: dimension {} of its result has {{}} elements, and must have {{}} "
                      "(`{}`)",
                      op, axis, known.expression_text()),
          {size, wanted});
}

void SizeDerivation::agree(NodeId id, const relay::Agreement& agreement) {
  const auto& [a, b, what] = agreement;
  if (a.is_unknown() || b.is_unknown()) return;  // of a value whose shape nobody needs
  const auto named = [](const Dim& d) {
    return d.is_constant() ? std::string("{}") : fmt::format("{{}} (`{}`)", d.expression_text());
  };
  require(tir::eq(expr(a), expr(b)),
          fmt::format("`{}`: {} differ: {} and {}", f_.op(id)->name, what, named(a), named(b)),
          {expr(a), expr(b)});
}

Dim SizeDerivation::fresh(const Expr& value) {
  if (const std::int64_t* n = tir::as_int(value); n != nullptr && *n >= 0) return Dim(*n);
  const std::string symbol = source_.fresh_symbol();
  sizes_.push_back({symbol, tir::make_var(symbol)});
  steps_.push_back({sizes_.back().var, value, {}, {}});
  return Dim::symbol(symbol);
}

void SizeDerivation::require(const Expr& condition, std::string sentence,
                             std::vector<Expr> values) {
  steps_.push_back(
      {{}, {}, {}, tir::Require::make(condition, std::move(sentence), std::move(values))});
}

Expr SizeDerivation::expr(const Dim& dim) const {
  return tir::dim_expr(dim, [&](const std::string& symbol) {
    const auto own = std::find_if(sizes_.begin(), sizes_.end(),
                                  [&](const Size& size) { return size.symbol == symbol; });
    return own != sizes_.end() ? own->var : source_.size(symbol);
  });
}

tir::Stmt SizeDerivation::around(tir::Stmt body) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->var) {
      body = tir::LetStmt::make(step->var, step->value, body);
    } else {
      body = tir::seq({step->fill, body});
      if (step->total) body = tir::Allocate::make(step->total, body);
    }
  }
  return body;
}

}  // namespace tessera::lower
