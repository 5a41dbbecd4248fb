// SPDX-License-Identifier: Apache-2.0
#include "passes/known_sizes.h"

#include <algorithm>

#include "ops/evaluation/evaluate_call.h"
#include "ops/records/table.h"
#include "types/computed.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

constexpr std::int64_t kMaxElements = 64;  // shapes are short

// Operators that move elements of their first operand and look at none of them.
bool moves_elements(const relay::Operator& op) {
  const std::string_view movers[] = {"take",    "strided_slice", "concatenate", "stack", "squeeze",
                                     "reshape", "expand_dims",   "gather",      "copy"};
  return std::find(std::begin(movers), std::end(movers), op.name) != std::end(movers);
}

Tensor ones_like(const Tensor& t) {
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(t.num_elements()), 1);
  return tensor_from_ints(t.shape, t.dtype, ones);
}

bool all_ones(const Tensor& t) {
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    if (element_as_int(t, i) != 1) return false;
  }
  return true;
}

bool is_small(const Type& type) {
  if (!type || !type.is_tensor() || is_dynamic(type) || !is_computed(type.dtype())) return false;
  std::int64_t count = 1;
  for (const Dim& d : type.shape()) {
    if (d.constant() > kMaxElements) return false;
    count *= d.constant();
    if (count > kMaxElements) return false;
  }
  return true;
}

}  // namespace

std::optional<Tensor> KnownSizes::visit(NodeId id) {
  std::optional<Known> found = known(id);
  if (!found) return std::nullopt;
  const Known& k = known_.emplace(id, std::move(*found)).first->second;
  const bool answers = f_.op(id) != nullptr && k.complete && k.from_sizes;
  return answers ? std::optional(k.values) : std::nullopt;
}

std::optional<KnownSizes::Known> KnownSizes::known(NodeId id) {
  if (!is_small(f_.type(id))) return std::nullopt;
  if (const auto* constant = f_.as<relay::Constant>(id)) {
    const Tensor& t = pool_.resolve(constant->value);
    return Known{t, ones_like(t)};
  }
  const relay::Operator* op = f_.op(id);
  if (op == nullptr || op->has_effect) return std::nullopt;
  return op->name == "shape_of" ? sizes(id) : evaluated(id);
}

std::optional<KnownSizes::Known> KnownSizes::sizes(NodeId id) const {
  const Type& operand = f_.type(f_.operands(id)[0]);
  std::vector<std::int64_t> values, mask;
  for (const Dim& d : operand.shape()) {
    values.push_back(d.is_constant() ? d.constant() : 0);
    mask.push_back(d.is_constant() ? 1 : 0);
  }
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(values.size())};
  const DType dtype = f_.type(id).dtype();
  const Tensor known = tensor_from_ints(shape, dtype, mask);
  return Known{tensor_from_ints(shape, dtype, values), known, all_ones(known), true};
}

// The operands, those of tuples one by one; false if nothing is known of one.
bool KnownSizes::operands_of(NodeId id, std::vector<const Known*>& out) const {
  for (const NodeId operand : f_.operands(id)) {
    if (f_.as<relay::Tuple>(operand) != nullptr) {
      if (!operands_of(operand, out)) return false;
      continue;
    }
    const auto it = known_.find(operand);
    if (it == known_.end()) return false;
    out.push_back(&it->second);
  }
  return !out.empty();
}

std::optional<KnownSizes::Known> KnownSizes::evaluated(NodeId id) const {
  const auto& call = *f_.as<relay::OpCall>(id);
  std::vector<const Known*> operands;
  if (call.op->eval == nullptr || !operands_of(id, operands)) return std::nullopt;
  std::vector<Tensor> values, masks;
  bool complete = true, from_sizes = false;
  // The operands after the first one of `take` and `gather` say where to look.
  const bool has_indices = f_.operands(id).size() > 1;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values.push_back(operands[i]->values);
    masks.push_back(has_indices && i > 0 ? operands[i]->values : operands[i]->mask);
    if (has_indices && i > 0 && !operands[i]->complete) return std::nullopt;
    complete = complete && operands[i]->complete;
    from_sizes = from_sizes || operands[i]->from_sizes;
  }
  if (!from_sizes || (!complete && !moves_elements(*call.op))) return std::nullopt;
  const Type& type = f_.type(id);
  const auto results = ops::evaluate_call(*call.op, {values, call.attrs, type});
  if (!results) return std::nullopt;
  const Tensor& result = results->front();
  if (complete) return Known{result, ones_like(result), true, true};
  const auto moved = ops::evaluate_call(*call.op, {masks, call.attrs, type});
  if (!moved) return std::nullopt;
  return Known{result, moved->front(), all_ones(moved->front()), true};
}

}  // namespace tessera::passes
