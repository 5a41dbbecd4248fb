// SPDX-License-Identifier: Apache-2.0
// Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "import/converters.h"
#include "import/indices.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// The loss of the logarithms of probabilities (n, c, d...) for the classes in input 1 (n, d...).
Value negative_log_likelihood(Node& n, Value log_p) {
  const Value target = input(n, 1).cast(kInt64);
  if (target.rank() < 1 || log_p.rank() != target.rank() + 1) {
    n.invalid(Code::kShapeMismatch, fmt::format("its input has {} dimensions and its target {}",
                                                log_p.rank(), target.rank()));
  }
  const std::string reduction = n.string_attr("reduction", "mean");
  Ints with_class = target.sizes();
  with_class.insert(with_class.begin() + 1, 1);
  Value chosen = target;
  std::optional<Value> counts;  // 0 for an ignored target
  if (n.has_attr("ignore_index")) {
    const auto ignored = static_cast<double>(n.int_attr("ignore_index", 0));
    const Value keep = !equal(target, ignored);
    chosen = where(keep, target, target.number(0));
    counts = keep.cast(log_p.dtype());
  }
  chosen = Value(n, checked_indices(n, chosen, log_p, {1}));
  const Value gathered(n, n.call("gather", {log_p, chosen.reshape(with_class)}, {{"axis", 1}}));
  Value loss = gathered.reshape(target.sizes()).apply("negative");
  std::optional<Value> weight = counts;
  if (n.has_input(2)) {
    const Value of_class = input(n, 2).take(chosen, 0);
    weight = counts ? of_class * *counts : of_class;
  }
  if (weight) loss = loss * *weight;
  const Ints all = range(0, target.rank());
  if (reduction == "none") return loss;
  if (reduction == "sum") return loss.sum(all, false);
  if (reduction != "mean") {
    n.invalid(Code::kWrongAttribute, fmt::format("it has no reduction \"{}\"", reduction));
  }
  if (!weight) return loss.mean(all, false);
  return loss.sum(all, false) / weight->sum(all, false);
}

std::vector<NodeId> convert_nll_loss(Node& n) { return {negative_log_likelihood(n, input(n, 0))}; }

std::vector<NodeId> convert_softmax_loss(Node& n) {
  const Value log_p = input(n, 0).apply("nn.log_softmax", {{"axis", 1}});
  return {negative_log_likelihood(n, log_p), log_p};
}

constexpr Converter kLossTable[] = {
    {"NegativeLogLikelihoodLoss", 12, convert_nll_loss},
    {"SoftmaxCrossEntropyLoss", 12, convert_softmax_loss},
};

}  // namespace

extern const std::span<const Converter> loss_converters;
const std::span<const Converter> loss_converters = kLossTable;

}  // namespace tessera::import
