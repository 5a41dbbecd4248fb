// SPDX-License-Identifier: Apache-2.0
#include "attention/masks.h"

#include <algorithm>
#include <cmath>

#include "relay/patterns/refuse.h"

namespace tessera::attention {
namespace {

using relay::NodeId;
using relay::Refusal;
using relay::refuse;

Expected<MaskStep, Refusal> choice(MaskStep step, std::optional<double> hidden) {
  if (!hidden || !(*hidden <= kAsGoodAsNothing)) {
    return refuse("a `where` before the softmax takes no number that hides keys");
  }
  step.chooses = true;
  step.hidden = *hidden;
  return step;
}

// The c of a constant c (1 - b).
std::optional<double> complement(const Tensor& b, const Tensor& hidden) {
  std::optional<double> c;
  if (b.shape != hidden.shape) return std::nullopt;
  for (std::int64_t i = 0; i < b.num_elements(); ++i) {
    const double is_seen = element_as_double(b, i), value = element_as_double(hidden, i);
    if (is_seen == 1 && value == 0) continue;
    if (is_seen != 0 || (c && *c != value)) return std::nullopt;
    c = value;
  }
  return c;
}

// The same of one that is computed.
std::optional<double> complement(const Nodes& nodes, NodeId b, NodeId hidden) {
  if (!nodes.is(hidden, "multiply")) return std::nullopt;
  const auto factors = nodes.operands(hidden);
  const std::size_t at = nodes.number(factors[0]) ? 1 : 0;
  if (!nodes.is(factors[at], "subtract")) return std::nullopt;
  const auto difference = nodes.operands(factors[at]);
  const bool is_complement = nodes.number(difference[0]) == 1.0 && difference[1] == b;
  return is_complement ? nodes.number(factors[1 - at]) : std::nullopt;
}

std::optional<double> negative(std::optional<double> x) {
  return x ? std::optional(-*x) : std::nullopt;
}

Expected<MaskStep, Refusal> multiplied(const Nodes& nodes, NodeId id) {
  const auto [product, hidden] = std::pair(nodes.operands(id)[0], nodes.operands(id)[1]);
  if (!nodes.is(product, "multiply")) return refuse("`subtract` stands between scores and softmax");
  const auto factors = nodes.operands(product);
  const auto is_mask = [&](NodeId x) {
    return nodes.constant(x) != nullptr ||
           (nodes.is(x, "cast") && nodes.function().type(nodes.operands(x)[0]).dtype().is_bool());
  };
  const std::size_t at = is_mask(factors[1]) ? 1 : 0;
  if (!is_mask(factors[at]))
    return refuse("scores are multiplied by a mask that is not of booleans");
  const NodeId b = factors[at];
  if (const Tensor* known = nodes.constant(b)) {
    const Tensor* taken = nodes.constant(hidden);
    return choice({factors[1 - at], b},
                  negative(taken != nullptr ? complement(*known, *taken) : std::nullopt));
  }
  return choice({factors[1 - at], nodes.operands(b)[0]}, negative(complement(nodes, b, hidden)));
}

}  // namespace

Expected<MaskStep, Refusal> read_mask(const Nodes& nodes, NodeId id) {
  const auto operands = nodes.operands(id);
  if (nodes.is(id, "subtract")) return multiplied(nodes, id);
  if (nodes.is(id, "add")) {
    const std::size_t scores = nodes.is_computed_inside(operands[0]) ? 0 : 1;
    return MaskStep{operands[scores], operands[1 - scores]};
  }
  const std::size_t scores = nodes.is_computed_inside(operands[1]) ? 1 : 2;
  MaskStep step{operands[scores], operands[0]};
  step.seen = scores == 1;
  return choice(step, nodes.number(operands[3 - scores]));
}

std::optional<double> hides_the_future(const Nodes& nodes, const MaskStep& step,
                                       std::int64_t keys) {
  const Tensor* tensor = nodes.constant(step.mask);
  const passes::Sizes square = {keys, keys};
  if (tensor == nullptr || tensor->shape.size() < 2 ||
      !std::equal(square.begin(), square.end(), tensor->shape.end() - 2)) {
    return std::nullopt;
  }
  const double neutral = step.chooses && step.seen ? 1 : 0;
  double hidden = step.chooses ? step.hidden : -INFINITY;
  for (std::int64_t i = 0; i < tensor->num_elements(); ++i) {
    const bool is_seen = i % keys <= i / keys % keys;
    const double value = element_as_double(*tensor, i);
    if (is_seen != (value == neutral) || std::isnan(value)) return std::nullopt;
    if (!is_seen && !step.chooses) hidden = std::max(hidden, value);
  }
  return hidden <= kAsGoodAsNothing ? std::optional(hidden) : std::nullopt;
}

}  // namespace tessera::attention
