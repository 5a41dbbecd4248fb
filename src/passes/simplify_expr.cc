// SPDX-License-Identifier: Apache-2.0
// Named algebraic rules on operator calls; the table is at the end. Each sees a call whose operands
// are already simplified and returns the node that stands for it, or nothing.
#include <array>
#include <cmath>

#include "ops/records/reshape_codes.h"
#include "ops/records/table.h"
#include "passes/known_sizes.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/rewrite.h"
#include "relay/shape_needs.h"

namespace tessera::passes {
namespace {

using relay::Attrs;
using relay::Copier;
using relay::NodeId;
using relay::OpCall;
using Found = std::optional<NodeId>;

// The one value of a tensor that has no other.
std::optional<double> uniform_value(const relay::Function& f, const ConstantPool& pool, NodeId id) {
  if (const auto* constant = f.as<relay::Constant>(id)) {
    const Tensor& t = pool.resolve(constant->value);
    if (t.num_elements() == 0) return std::nullopt;
    const double first = element_as_double(t, 0);
    for (std::int64_t i = 1; i < t.num_elements(); ++i) {
      if (element_as_double(t, i) != first) return std::nullopt;
    }
    return first;
  }
  const relay::Operator* op = f.op(id);
  if (op == nullptr) return std::nullopt;
  if (op->name == "zeros" || op->name == "ones") return op->name == "ones" ? 1 : 0;
  const bool repeats = op->name == "full" || op->name == "broadcast_to";
  return repeats ? uniform_value(f, pool, f.operands(id)[0]) : std::nullopt;
}

// What a rule looks at: the call (old graph, for its type) and its new operands.
struct Site {
  Copier& c;
  const ConstantPool& pool;
  NodeId old;
  const OpCall& call;
  std::vector<NodeId> args;

  const relay::Function& made() const { return c.builder().peek(); }
  const Type& type() const { return c.from().type(old); }
  const Type& arg_type(std::size_t i) const { return made().type(args[i]); }
  // The operand's call, if it is one of the operator.
  const OpCall* arg_call(std::size_t i, std::string_view op) const {
    const OpCall* inner = made().as<OpCall>(args[i]);
    return inner != nullptr && inner->op->name == op ? inner : nullptr;
  }
  NodeId inner_arg(std::size_t i) const { return made().operands(args[i])[0]; }
  // The value of an operand that has one value throughout: a constant, or what makes one.
  std::optional<double> uniform(std::size_t i) const {
    return uniform_value(made(), pool, args[i]);
  }
  NodeId make(std::string_view op, std::initializer_list<NodeId> operands, Attrs attrs = {}) const {
    const NodeId id = c.builder().call(ops::op(op), operands, std::move(attrs));
    c.builder().set_type(id, type());
    return id;
  }
  // `id` in place of the call, if it has the call's type.
  Found same(NodeId id) const {
    return made().type(id) && made().type(id) == type() ? Found(id) : std::nullopt;
  }
};

std::vector<std::int64_t> ints(const OpCall& call, std::string_view name) {
  const relay::AttrValue* v = call.attrs.find(name);
  return v == nullptr || v->is_none() ? std::vector<std::int64_t>{}
                                      : relay::AttrCodec<std::vector<std::int64_t>>::decode(*v);
}

// The permutation of a transpose; none given reverses the axes.
std::vector<std::int64_t> permutation(const OpCall& call, std::size_t rank) {
  std::vector<std::int64_t> axes = ints(call, "axes");
  for (std::size_t i = 0; axes.size() < rank; ++i)
    axes.push_back(static_cast<std::int64_t>(rank - 1 - i));
  for (std::int64_t& a : axes) a += a < 0 ? static_cast<std::int64_t>(rank) : 0;
  return axes;
}

bool is_identity(const std::vector<std::int64_t>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

Found transpose_identity(const Site& s) {
  if (!is_identity(permutation(s.call, s.type().rank()))) return std::nullopt;
  return s.same(s.args[0]);
}

Found transpose_of_transpose(const Site& s) {
  const OpCall* inner = s.arg_call(0, "transpose");
  if (inner == nullptr) return std::nullopt;
  const auto first = permutation(*inner, s.type().rank()),
             second = permutation(s.call, s.type().rank());
  std::vector<std::int64_t> both;
  for (const std::int64_t a : second) both.push_back(first[static_cast<std::size_t>(a)]);
  if (is_identity(both)) return s.same(s.inner_arg(0));
  return s.make("transpose", {s.inner_arg(0)}, {{"axes", both}});
}

// reshape, squeeze and expand_dims move no data: where shapes agree they are nothing.
Found view_identity(const Site& s) {
  return is_dynamic(s.type()) ? std::nullopt : s.same(s.args[0]);
}

Found reshape_of_view(const Site& s) {
  if (is_dynamic(s.type())) return std::nullopt;
  for (const std::string_view view : {"reshape", "squeeze", "expand_dims"}) {
    if (s.arg_call(0, view) == nullptr) continue;
    if (const Found unchanged = s.same(s.inner_arg(0))) return unchanged;
    const auto sizes = constant_shape(s.type().shape());
    return s.make("reshape", {s.inner_arg(0)}, {{"newshape", *sizes}});
  }
  return std::nullopt;
}

// Inference knows the list where it is computed of sizes. Without that list the rest is a reshape.
Found reshape_to_known_sizes(const Site& s) {
  const Shape &from = s.arg_type(0).shape(), &to = s.type().shape();
  if (relay::has_unknown_size(s.type()) || !(num_elements(from) == num_elements(to))) {
    return std::nullopt;
  }
  const auto codes = ops::reshape_codes(from, to);
  return codes ? Found(s.make("reshape", {s.args[0]}, {{"newshape", *codes}})) : std::nullopt;
}

Found cast_identity(const Site& s) { return s.same(s.args[0]); }

// A wider type in between loses nothing; a narrower one does.
Found cast_of_cast(const Site& s) {
  if (s.arg_call(0, "cast") == nullptr) return std::nullopt;
  const DType from = s.made().type(s.inner_arg(0)).dtype(), mid = s.arg_type(0).dtype();
  const bool lossless =
      from == mid || (from.code == mid.code && from.bits < mid.bits) || from.is_bool();
  if (!lossless) return std::nullopt;
  if (from == s.type().dtype()) return s.same(s.inner_arg(0));
  return s.make("cast", {s.inner_arg(0)}, {{"dtype", s.type().dtype()}});
}

Found multiply_one(const Site& s) {
  if (s.uniform(1) == 1.0) return s.same(s.args[0]);
  return s.uniform(0) == 1.0 ? s.same(s.args[1]) : std::nullopt;
}

Found add_zero(const Site& s) {
  // -0.0 + 0.0 is 0.0: for floats only the addition of -0.0 is nothing at all, but no caller can
  // tell the two zeros apart by comparison.
  if (s.uniform(1) == 0.0) return s.same(s.args[0]);
  return s.uniform(0) == 0.0 ? s.same(s.args[1]) : std::nullopt;
}

Found subtract_zero(const Site& s) {
  return s.uniform(1) == 0.0 ? s.same(s.args[0]) : std::nullopt;
}

// Exact only for powers of two.
Found divide_by_power_of_two(const Site& s) {
  const auto divisor = s.uniform(1);
  if (divisor == 1.0) return s.same(s.args[0]);
  if (!divisor || !s.type().dtype().is_float() || *divisor == 0) return std::nullopt;
  int exponent = 0;
  if (std::abs(std::frexp(*divisor, &exponent)) != 0.5 || std::abs(exponent) > 14)
    return std::nullopt;
  const Type old = s.arg_type(1);
  if (is_dynamic(old)) return std::nullopt;
  const std::vector<std::int64_t> shape = constant_shape(old.shape()).value();
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  const std::vector<double> inverse(static_cast<std::size_t>(count), 1 / *divisor);
  const NodeId factor = s.c.builder().constant(tensor_from_doubles(shape, old.dtype(), inverse));
  s.c.builder().set_type(factor, old);
  return s.make("multiply", {s.args[0], factor});
}

Found concatenate_one(const Site& s) {
  const auto* tuple = s.made().as<relay::Tuple>(s.args[0]);
  if (tuple == nullptr || s.made().operands(s.args[0]).size() != 1) return std::nullopt;
  return s.same(s.made().operands(s.args[0])[0]);
}

Found broadcast_identity(const Site& s) {
  return is_dynamic(s.type()) ? std::nullopt : s.same(s.args[0]);
}

// What is true throughout only gives the other operand its shape.
Found logical_and_true(const Site& s) {
  for (const std::size_t side : {0, 1}) {
    if (s.uniform(side) != 1.0) continue;
    if (const Found unchanged = s.same(s.args[1 - side])) return unchanged;
    if (is_dynamic(s.type())) return std::nullopt;
    return s.make("broadcast_to", {s.args[1 - side]},
                  {{"shape", *constant_shape(s.type().shape())}});
  }
  return std::nullopt;
}

// Choices between two numbers are made before the condition repeats.
Found where_of_broadcast(const Site& s) {
  if (s.arg_call(0, "broadcast_to") == nullptr || is_dynamic(s.type())) return std::nullopt;
  const NodeId condition = s.inner_arg(0);
  const bool numbers = num_elements(s.arg_type(1).shape()) == Dim(1) &&
                       num_elements(s.arg_type(2).shape()) == Dim(1);
  const Shape& shape = s.made().type(condition).shape();
  if (!numbers || shape.size() < std::max(s.arg_type(1).rank(), s.arg_type(2).rank())) {
    return std::nullopt;
  }
  const NodeId chosen = s.make("where", {condition, s.args[1], s.args[2]});
  s.c.builder().set_type(chosen, tensor_type(shape, s.type().dtype()));
  return s.make("broadcast_to", {chosen}, {{"shape", *constant_shape(s.type().shape())}});
}

// Addition repeats what is smaller by itself.
Found add_of_broadcast(const Site& s) {
  for (const std::size_t side : {0, 1}) {
    if (s.arg_call(side, "broadcast_to") == nullptr) continue;
    if (is_dynamic(s.type()) || s.arg_type(1 - side) != s.type()) continue;
    std::array<NodeId, 2> operands = {s.args[0], s.args[1]};
    operands[side] = s.inner_arg(side);
    return s.make("add", {operands[0], operands[1]});
  }
  return std::nullopt;
}

struct Rule {
  std::string_view name, op;
  Found (*apply)(const Site&);
};

constexpr Rule kRules[] = {
    {"transpose-identity", "transpose", transpose_identity},
    {"transpose-of-transpose", "transpose", transpose_of_transpose},
    {"reshape-identity", "reshape", view_identity},
    {"squeeze-identity", "squeeze", view_identity},
    {"reshape-of-view", "reshape", reshape_of_view},
    {"dyn-reshape-to-known-sizes", "dyn.reshape", reshape_to_known_sizes},
    {"squeeze-of-view", "squeeze", reshape_of_view},
    {"expand-dims-of-view", "expand_dims", reshape_of_view},
    {"cast-identity", "cast", cast_identity},
    {"cast-of-cast", "cast", cast_of_cast},
    {"multiply-one", "multiply", multiply_one},
    {"add-zero", "add", add_zero},
    {"subtract-zero", "subtract", subtract_zero},
    {"divide-power-of-two", "divide", divide_by_power_of_two},
    {"concatenate-one", "concatenate", concatenate_one},
    {"broadcast-identity", "broadcast_to", broadcast_identity},
    {"logical-and-true", "logical_and", logical_and_true},
    {"where-of-broadcast", "where", where_of_broadcast},
    {"add-of-broadcast", "add", add_of_broadcast},
    {"copy", "copy", view_identity},
};

Found simplify(Copier& c, NodeId id, const ConstantPool& pool) {
  const auto* call = c.from().as<OpCall>(id);
  if (call == nullptr || !c.from().type(id)) return std::nullopt;
  const Site site{c, pool, id, *call, c.operands(id)};
  for (const NodeId arg : site.args) {
    if (!site.made().type(arg)) return std::nullopt;
  }
  for (const Rule& rule : kRules) {
    if (rule.op != call->op->name) continue;
    if (Found found = rule.apply(site)) return found;
  }
  return std::nullopt;
}

relay::Function simplified(const relay::Function& f, const ConstantPool& pool) {
  KnownSizes sizes(f, pool);
  const std::vector<relay::RegionId> closed = closed_bodies(f);
  return relay::rewrite(f, [&](Copier& c, NodeId id) -> Found {
    if (closed[f[id].region.index()]) return std::nullopt;  // patterns were matched, kernels made
    if (const std::optional<Tensor> known = sizes.visit(id)) {
      const NodeId constant = c.builder().constant(*known);
      c.builder().set_type(constant, known->type());
      return constant;
    }
    return simplify(c, id, pool);
  });
}

Result<Module> run_simplify_expr(Module module, PassContext&) {
  return map_optimizable(std::move(module), simplified);
}

}  // namespace

extern const Pass simplify_expr;
const Pass simplify_expr{
    .name = "simplify-expr",
    .summary = "applies a table of algebraic rules: identities, double transposes, casts, reshapes",
    .run = run_simplify_expr,
};

}  // namespace tessera::passes
