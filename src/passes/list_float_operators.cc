// SPDX-License-Identifier: Apache-2.0
// Changes nothing: lists which operators of a quantised model are computed in floats, and why, as
// long as what was dequantised can be seen.
#include <algorithm>
#include <map>
#include <utility>

#include "passes/pass.h"
#include "passes/quantized_products.h"

namespace tessera::passes {
namespace {

using relay::Function;
using relay::NodeId;

struct ListFloatOperatorsOptions {
  std::string integers = "none";  // which products of integers there are: IntegerProducts
  static constexpr auto fields =
      std::tuple{relay::attr("integers", &ListFloatOperatorsOptions::integers)};
};

constexpr std::string_view kHasNoForm = "it is computed on dequantised numbers";

// Of a function, one row for each operator and reason.
class Listing {
 public:
  Listing(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators,
          IntegerProducts products)
      : f_(f), values_(f, pool, operators), products_(products), uses_(f) {}

  std::map<std::pair<std::string, std::string>, std::int64_t> run() {
    for (std::uint32_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id(i);
      if (f_.op(id) == nullptr || !f_.type(id).is_tensor()) continue;
      if (const std::string_view why = reason(id); !why.empty()) {
        ++rows_[{std::string(f_.op(id)->name), std::string(why)}];
      }
    }
    return std::move(rows_);
  }

 private:
  // "" of what is no such operator.
  std::string_view reason(NodeId id) const {
    const auto operands = f_.operands(id);
    const bool reads_any =
        std::ranges::any_of(operands, [&](NodeId o) { return was_dequantised(o); });
    if (!reads_any) return "";
    if (is_float_product(f_, id)) {
      std::string_view why = "integers of it are multiplied by no back end that is asked";
      (void)quantized_product(values_, id, products_, why);
      return why;
    }
    return computes(id) ? kHasNoForm : "";
  }

  bool was_dequantised(NodeId id) const {
    constexpr int kMostSteps = 8;
    for (int i = 0; i < kMostSteps && f_.op(id) != nullptr; ++i) {
      if (!f_.type(id).is_tensor() || f_.type(id).dtype() != kFloat32) return false;
      if (relay::is_call_of(f_, id, "qnn.dequantize") || is_dequantisation(id)) return true;
      if (!moves(id)) return false;
      id = f_.operands(id)[0];
    }
    return false;
  }

  // Of data: what a constant was made of is folded.
  bool is_dequantisation(NodeId id) const {
    const auto q = values_.find(id, kFloat32);
    return q && values_.constant(q->x) == nullptr;
  }

  bool moves(NodeId id) const {
    const relay::Operator& op = *f_.op(id);
    return op.pattern == relay::OpPattern::kInjective || op.name == "nn.max_pool2d";
  }

  // In floats; the division of the next quantisation, which is rounded, is none.
  bool computes(NodeId id) const {
    const relay::Operator& op = *f_.op(id);
    if (f_.type(id).dtype() != kFloat32 || moves(id) || op.name == "cast") return false;
    return op.name != "divide" || !std::ranges::all_of(uses_.of(id), [&](NodeId user) {
             return relay::is_call_of(f_, user, "round");
           });
  }

  const Function& f_;
  const QuantizedValues values_;
  const IntegerProducts products_;
  const relay::Uses uses_;
  std::map<std::pair<std::string, std::string>, std::int64_t> rows_;
};

Result<Module> run_list_float_operators(Module module, PassContext& context) {
  const auto options = relay::read_attrs<ListFloatOperatorsOptions>(context.options);
  const auto products = parse_integer_products(options.integers);
  if (!products) {
    return fail(error(Code::kBadOption, {}, "`{}` are no products of integers", options.integers)
                    .with_remedy("integers are none, all or pairs"));
  }
  std::map<std::pair<std::string, std::string>, std::int64_t> rows;
  for (const auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;
    for (const auto& [row, count] :
         Listing(f, module.constants, context.operators, *products).run())
      rows[row] += count;
  }
  for (const auto& [row, count] : rows) {
    context.float_operators.push_back({row.first, row.second, count});
  }
  return module;
}

}  // namespace

extern const Pass list_float_operators;
const Pass list_float_operators{
    .name = "list-float-operators",
    .summary = "lists what of a quantised model is computed in floats, and why",
    .options = relay::attr_schema<ListFloatOperatorsOptions>,
    .run = run_list_float_operators,
};

}  // namespace tessera::passes
