// SPDX-License-Identifier: Apache-2.0
// Checks of indices that lie inside whatever the inputs are: constants, and what `arange` counts.
#include <algorithm>
#include <array>

#include "ops/attrs/check_indices.h"
#include "passes/pass.h"
#include "relay/evaluation_order.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "tir/dim_vars.h"
#include "tir/index_form.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

struct ElideOptions {
  bool all = false;
  static constexpr auto fields = std::tuple{relay::attr("all", &ElideOptions::all)};
};

// Is low <= high whatever values in their ranges the symbols have?
bool is_within(const Dim& low, const Dim& high, const SymbolTable& symbols) {
  const Dim difference = high - low;
  if (difference.is_unknown()) return false;
  tir::Bounds bounds;
  std::map<std::string, tir::Expr> values;
  for (const std::string& symbol : difference.symbols()) {
    const auto it = symbols.find(symbol);
    tir::Interval range{it == symbols.end() ? 0 : it->second.min, tir::Interval::kAny};
    if (it != symbols.end() && it->second.max >= 0) range.max = it->second.max;
    values[symbol] = tir::make_var(symbol);
    bounds.set(values[symbol], range);
  }
  const tir::Interval found = tir::size_range(
      tir::dim_expr(difference, [&](const std::string& s) { return values.at(s); }), bounds);
  return found.has_min() && found.min >= 0;
}

// Operators whose results hold elements of their first operand, and no others.
bool moves_elements(std::string_view op) {
  constexpr std::array<std::string_view, 13> kMovers = {
      "reshape",           "expand_dims", "squeeze",       "transpose", "broadcast_to",
      "dyn.broadcast_to",  "tile",        "strided_slice", "repeat",    "reverse",
      "dyn.strided_slice", "dyn.reshape", "copy"};
  return std::find(kMovers.begin(), kMovers.end(), op) != kMovers.end();
}

class CheckEliding {
 public:
  CheckEliding(const Function& f, const Module& module) : f_(f), module_(module) {}

  bool is_needless(NodeId check) const {
    const auto operands = f_.operands(check);
    const Shape sizes = sizes_of(check);
    if (!f_.type(check) || sizes.empty()) return false;
    NodeId id = operands[0];
    std::optional<std::int64_t> narrowest;  // bits of what the elements went through
    for (; is_move(id); id = f_.operands(id)[0]) {
      if (!f_.type(id)) return false;
      narrowest = std::min<std::int64_t>(narrowest.value_or(64), f_.type(id).dtype().bits);
    }
    return std::all_of(sizes.begin(), sizes.end(), [&](const Dim& size) {
      if (narrowest.value_or(64) < 32) return false;
      return is_inside(id, size) &&
             (narrowest.value_or(64) == 64 || is_within(size, Dim(INT32_MAX)));
    });
  }

 private:
  // Does the node move integers? What they are is then known of what they were.
  bool is_move(NodeId id) const {
    const relay::Operator* op = f_.op(id);
    if (op == nullptr) return f_.as<relay::Let>(id) != nullptr;
    if (op->name == "cast") {
      const Type& from = f_.type(f_.operands(id)[0]);
      return from && from.dtype().is_int() && f_.type(id).dtype().is_int();
    }
    return moves_elements(op->name);
  }

  Shape sizes_of(NodeId check) const {
    const auto& call = *f_.as<relay::OpCall>(check);
    const auto p = relay::read_attrs<ops::CheckIndicesAttrs>(call.attrs);
    const auto operands = f_.operands(check);
    if (operands.size() == 1) return Shape(p.sizes.begin(), p.sizes.end());
    const Type& data = f_.type(operands[1]);
    Shape sizes;
    for (const std::int64_t axis : p.axes) {
      if (!data) return {};
      const auto rank = static_cast<std::int64_t>(data.rank());
      sizes.push_back(data.shape()[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
    }
    return sizes;
  }

  bool is_inside(NodeId id, const Dim& size) const {
    if (const auto* c = f_.as<relay::Constant>(id)) {
      const Tensor& values = module_.constants.resolve(c->value);
      if (!values.dtype.is_int()) return false;
      std::int64_t low = 0, high = 0;
      for (std::int64_t i = 0; i < values.num_elements(); ++i) {
        low = std::min(low, element_as_int(values, i));
        high = std::max(high, element_as_int(values, i));
      }
      if (values.num_elements() == 0) return true;
      return low > INT64_MIN && is_within(Dim(-low), size) && is_within(Dim(high) + Dim(1), size);
    }
    return is_inside_range(id, size);
  }

  // 0, 1, 2, ...: as many as its result has elements.
  bool is_inside_range(NodeId id, const Dim& size) const {
    if (!relay::is_call_of(f_, id, "arange") || !f_.type(id)) return false;
    const auto number = [&](std::size_t operand) -> std::optional<std::int64_t> {
      const auto* c = f_.as<relay::Constant>(relay::behind_lets(f_, f_.operands(id)[operand]));
      if (c == nullptr) return std::nullopt;
      const Tensor& value = module_.constants.resolve(c->value);
      return value.dtype.is_int() ? std::optional(element_as_int(value, 0)) : std::nullopt;
    };
    return number(0) == 0 && number(2) == 1 && f_.type(id).dtype().is_int() &&
           is_within(f_.type(id).shape()[0], size);
  }

  bool is_within(const Dim& low, const Dim& high) const {
    return passes::is_within(low, high, module_.symbols);
  }

  const Function& f_;
  const Module& module_;
};

Result<Module> run_elide_index_checks(Module module, PassContext& context) {
  const auto options = relay::read_attrs<ElideOptions>(context.options);
  for (auto& entry : module.functions) {
    Function& f = entry.second;
    if (!relay::is_optimizable(f)) continue;
    const CheckEliding eliding(f, module);
    Function rest = relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      if (!relay::is_call_of(f, id, "check_indices")) return std::nullopt;
      if (!options.all && !eliding.is_needless(id)) return std::nullopt;
      return c.map(f.operands(id)[0]);
    });
    f = std::move(rest);
  }
  return module;
}

}  // namespace

extern const Pass elide_index_checks;
const Pass elide_index_checks{
    .name = "elide-index-checks",
    .summary = "drops checks of indices that are known to lie inside, or, with `all`, every check",
    .options = relay::attr_schema<ElideOptions>,
    .run = run_elide_index_checks,
};

}  // namespace tessera::passes
