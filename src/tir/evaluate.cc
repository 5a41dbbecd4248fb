// SPDX-License-Identifier: Apache-2.0
#include "tir/evaluate.h"

#include "tir/intrinsics.h"
#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::tir {

Expr Evaluator::value(const Expr& e, int lane) {
  Expr out = visit(
      e, [&](const IntImm&) { return e; }, [&](const FloatImm&) { return e; },
      [&](const Var& n) {
        const auto it = values_.find(&n);
        TESSERA_CHECK(it != values_.end(), "variable `{}` has no value", n.name);
        return it->second;
      },
      [&](const Cast& n) { return cast(value(n.value, lane), n.dtype.element()); },
      [&](const Not& n) { return logical_not(value(n.value, lane)); },
      [&](const And& n) { return condition(n.a, lane) ? value(n.b, lane) : bool_imm(false); },
      [&](const Or& n) { return condition(n.a, lane) ? bool_imm(true) : value(n.b, lane); },
      [&](const Select& n) { return value(condition(n.condition, lane) ? n.yes : n.no, lane); },
      [&](const Load& n) {
        std::vector<std::int64_t> indices;
        for (const Expr& i : n.indices) indices.push_back(index(i, lane));
        return load(n.buffer, indices);
      },
      [&](const Call& n) {
        std::vector<Expr> args;
        for (const Expr& a : n.args) args.push_back(value(a, lane));
        const Expr literal = call(n.name, std::move(args), n.dtype.element());
        return fold_call(*literal.as<Call>());
      },
      [&](const Ramp& n) {
        return value(n.base) + value(n.stride) * int_imm(lane, n.base.dtype());
      },
      [&](const Broadcast& n) { return value(n.value); },
      [&]<BinaryNode N>(const N& n) {
        return binary(KindOf<N>::value, value(n.a, lane), value(n.b, lane));
      },
      [&](Otherwise) { return Expr(); });
  TESSERA_CHECK(out && (out.as<IntImm>() != nullptr || out.as<FloatImm>() != nullptr),
                "`{}` has no defined value", print(e));
  return out;
}

std::int64_t Evaluator::index(const Expr& e, int lane) {
  const Expr v = value(e, lane);
  const std::int64_t* i = as_int(v);
  TESSERA_CHECK(i != nullptr, "`{}` is no integer", print(e));
  return *i;
}

}  // namespace tessera::tir
