// SPDX-License-Identifier: Apache-2.0
#include "backends/example_target_hook/example_target_hook.h"

#include <algorithm>

#include <fmt/format.h>

#include "byoc/compiler_functions.h"
#include "byoc/function_at_a_time.h"
#include "lower/primitive.h"
#include "tir/expr_ops.h"

namespace tessera::backends {
namespace example_target_hook {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;
using byoc::Refusal;
using relay::Function;
using relay::NodeId;
using tir::Expr;
using tir::Indices;
using tir::TensorExpr;
using Tensors = std::vector<TensorExpr>;

constexpr std::string_view kName = "example_target_hook";

// ---- What the back end takes -------------------------------------------------------------------

std::vector<CompositePattern> make_patterns() {
  using relay::is_op;
  using relay::wildcard;
  return {
      {"relu", is_op("nn.relu", {wildcard()}), {}},
      {"add", is_op("add", {wildcard(), wildcard()}), {}},
      {"concatenate", is_op("concatenate", {wildcard()}), {}},
  };
}

// ---- What it makes of it: one element of the result, given the indices ------------------------

Expr relu(const Tensors& x, const Indices& at) {
  const Expr value = x[0](at);
  return tir::max(value, tir::imm(0, value.dtype()));
}

// x[at], where x may be broadcast to the shape that `at` walks over.
Expr read_broadcast(const TensorExpr& x, const Indices& at) {
  Indices own(at.end() - static_cast<std::ptrdiff_t>(x.rank()), at.end());
  for (std::size_t d = 0; d < own.size(); ++d) {
    if (const std::int64_t* size = tir::as_int(x.shape()[d]); size != nullptr && *size == 1) {
      own[d] = Expr(std::int64_t{0});
    }
  }
  return x(own);
}

Expr add(const Tensors& x, const Indices& at) {
  return read_broadcast(x[0], at) + read_broadcast(x[1], at);
}

// The last tensor that begins at or before the index along the axis has the element.
Expr concatenate(const Tensors& x, const Indices& at, std::size_t axis) {
  Expr value = x[0](at);
  Expr begin = x[0].shape()[axis];
  for (std::size_t i = 1; i < x.size(); ++i) {
    Indices own = at;
    own[axis] = at[axis] - begin;
    value = tir::select(tir::lt(at[axis], begin), value, x[i](own));
    begin = begin + x[i].shape()[axis];
  }
  return value;
}

// ---- A region: one call of one composite of one operator ---------------------------------------

// The tensors of the region's parameters, and those among them that the operator reads.
struct Operands {
  Tensors all, read;
};
Operands operands_of(const Function& region, const relay::Region& composite, tir::DimVars& dims) {
  Operands out;
  std::vector<Tensors> of_param;
  for (const NodeId param : region.params()) {
    Tensors& parts = of_param.emplace_back();
    for (const Type& type : flatten(region.type(param))) {
      const std::string name = fmt::format("x{}", out.all.size());
      parts.push_back(tir::input_tensor(name, dims.shape(type.shape()), type.dtype()));
      out.all.push_back(parts.back());
    }
  }
  for (const NodeId operand : region.operands(composite.result)) {
    const Tensors& parts = of_param[byoc::argument_position(region, operand)];
    out.read.insert(out.read.end(), parts.begin(), parts.end());
  }
  return out;
}

tir::PrimFunc loops_of(const Function& region, const Target& target) {
  const auto call = region.operands(region.result());
  const relay::Region& composite = region.region(region.as<relay::Literal>(call[0])->body);
  const relay::OpCall& op = *region.as<relay::OpCall>(composite.result);
  lower::Definitions d;
  const Operands operands = operands_of(region, composite, d.dims);
  const Type& type = region.type(region.result());

  const auto element = [&](const Indices& at) {
    if (op.op->name == "nn.relu") return relu(operands.read, at);
    if (op.op->name == "add") return add(operands.read, at);
    const std::int64_t axis = op.attrs.int_or_zero("axis");
    const auto rank = static_cast<std::int64_t>(at.size());
    return concatenate(operands.read, at, static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  };
  d.inputs = operands.all;
  d.outputs = {tir::compute("y", d.dims.shape(type.shape()), element)};
  d.operators = byoc::operators_of(region);
  d.sources = byoc::sources_of(region);
  tir::PrimFunc f = lower::lower_definitions(d);
  f.attrs["target"] = kName;
  f.attrs["example_attribute"] = fmt::format("{}", target.get_int("example_attribute"));
  return f;
}

class ExampleTargetHook final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }
  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }

  std::vector<CompositePattern> patterns(const Target&) const override { return make_patterns(); }
  std::optional<Refusal> validate(const Function& region, const Target&) const override {
    std::vector<NodeId> ends(region.params().begin(), region.params().end());
    ends.push_back(region.result());
    for (const NodeId end : ends) {
      for (const Type& t : flatten(region.type(end))) {
        if (!constant_shape(t.shape())) return Refusal{"a size is not known"};
      }
    }
    return std::nullopt;
  }

  // All of the module's functions of this back end become loop IR under their own symbols.
  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext&) const override {
    for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
      module.prim_funcs.emplace(symbol, loops_of(module.functions.at(symbol), target));
      byoc::make_extern(module, symbol, byoc::kLoopIr, {});
    }
    return CompileOutcome{std::move(module), {}};
  }
};

}  // namespace
}  // namespace example_target_hook

const byoc::Backend& example_target_hook_backend() {
  static const example_target_hook::ExampleTargetHook backend;
  return backend;
}

}  // namespace tessera::backends
