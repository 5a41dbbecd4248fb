// SPDX-License-Identifier: Apache-2.0
#include "passes/widening_rules.h"

#include <algorithm>

#include "ops/attrs/conv.h"
#include "passes/rule_table.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

constexpr WideningRule kWideningRules[] = {
#define RULE(op, kind, reason) {op, WideningRule::kind, reason},
#include "passes/widening_rules.def"
#undef RULE
};
static_assert(std::ranges::is_sorted(kWideningRules, {}, &WideningRule::op));

bool makes_wider_floats(const Type& type) {
  return type.is_tensor() && type.dtype().is_float() && type.dtype().bits > 16;
}

}  // namespace

std::span<const WideningRule> widening_rules() { return kWideningRules; }

WideningRule::Kind widening_kind(const relay::Function& f, relay::NodeId call) {
  const relay::Operator& op = *f.op(call);
  if (const WideningRule* found = find_rule(widening_rules(), op.name)) return found->kind;
  if (op.pattern == relay::OpPattern::kInjective) return WideningRule::kMoves;
  if (op.name == "cast") {
    return makes_wider_floats(f.type(call)) ? WideningRule::kComputes : WideningRule::kKeeps;
  }
  return WideningRule::kComputes;
}

bool is_convolution(std::string_view op) {
  constexpr std::string_view kConvolutions[] = {"nn.conv1d", "nn.conv2d", "nn.conv3d"};
  return std::ranges::find(kConvolutions, op) != std::end(kConvolutions);
}

bool multiplies_matrices(std::string_view op) {
  constexpr std::string_view kProducts[] = {"nn.batch_matmul", "nn.dense", "nn.matmul"};
  return std::ranges::find(kProducts, op) != std::end(kProducts);
}

std::optional<std::string_view> unpaired(const relay::Function& f, relay::NodeId convolution) {
  const auto p = relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(convolution)->attrs);
  if (p.groups != 1) return "its channels are in groups";
  const auto window = constant_shape(f.type(f.operands(convolution)[1]).shape());
  if (!window) return "the size of its window is open";
  if ((*window)[p.kernel_layout.find('I')] % 2 != 0) return "the number of its channels is odd";
  return std::nullopt;
}

bool is_matrix_product(const relay::Function& f, relay::NodeId call,
                       std::span<const DType> dtypes) {
  const std::string_view name = f.op(call)->name;
  if (!(is_convolution(name) ? !unpaired(f, call) : multiplies_matrices(name))) return false;
  const auto operands = f.operands(call);
  return std::ranges::all_of(operands, [&](relay::NodeId o) {
    const Type& type = f.type(o);
    return type.is_tensor() && std::ranges::find(dtypes, type.dtype()) != dtypes.end();
  });
}

}  // namespace tessera::passes
