// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/epilogue.h"

#include <algorithm>

#include "backends/onednn/activation.h"

namespace tessera::backends::onednn {

bool is_reshape(std::string_view op) {
  return op == "reshape" || op == "expand_dims" || op == "squeeze" || op == "nn.batch_flatten";
}

std::optional<Scaling> scaling(const Subject& s, NodeId call) {
  const std::string_view op = s.op(call);
  if (op != "multiply" && op != "divide") return std::nullopt;
  const auto operands = s.operands(call);
  if (const auto right = s.scalar(operands[1])) {
    if (s.shape(operands[0]) != s.shape(call)) return std::nullopt;
    return Scaling{operands[0], op == "divide" ? 1 / *right : *right};
  }
  const auto left = op == "multiply" ? s.scalar(operands[0]) : std::nullopt;
  if (!left || s.shape(operands[1]) != s.shape(call)) return std::nullopt;
  return Scaling{operands[1], *left};
}

Ints transpose_axes(const Subject& s, NodeId call) {
  Ints axes = s.ints(call, "axes");
  const auto rank = static_cast<std::int64_t>(s.shape(call).size());
  if (axes.empty()) {
    for (std::int64_t i = rank; i-- > 0;) axes.push_back(i);
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  return axes;
}

namespace {

// The nodes inside that depend on the core: all that the epilogue computes.
std::vector<NodeId> dependants(const Subject& s, NodeId core) {
  std::vector<NodeId> out = {core};
  for (const NodeId id : s.match().inside) {
    const auto operands = s.operands(id);
    const bool reads = std::any_of(operands.begin(), operands.end(), [&](NodeId o) {
      return std::find(out.begin(), out.end(), o) != out.end();
    });
    if (reads) out.push_back(id);
  }
  return out;
}

class Walk {
 public:
  Walk(const Subject& s, NodeId core, std::string_view activation)
      : s_(s), path_(dependants(s, core)), activation_(activation) {}

  // The step at `node`; *next is the node before it.
  Expected<EpilogueStep, Refusal> step(NodeId node, NodeId* next) const {
    if (!activation_.empty() && node == s_.capture("activation")) return activation(node, next);
    const std::string_view op = s_.op(node);
    if (is_reshape(op) || op == "transpose") {
      *next = s_.operands(node)[0];
      return EpilogueStep{EpilogueKind::kView, node, {}, 1, {}};
    }
    if (op == "add" || op == "nn.bias_add") return addition(node, next);
    const auto factor = scaling(s_, node);
    if (!factor) return refuse("`{}` in between is no scaling by a constant", op);
    *next = factor->value;
    return EpilogueStep{EpilogueKind::kScale, node, {}, factor->factor, {}};
  }

 private:
  bool on_path(NodeId id) const { return std::find(path_.begin(), path_.end(), id) != path_.end(); }

  Expected<EpilogueStep, Refusal> activation(NodeId node, NodeId* next) const {
    auto op = find_activation(activation_)->post_op(s_, node, next);
    if (!op) return Unexpected<Refusal>{op.error()};
    return EpilogueStep{EpilogueKind::kActivation, node, {}, 1, std::move(*op)};
  }

  Expected<EpilogueStep, Refusal> addition(NodeId node, NodeId* next) const {
    const auto operands = s_.operands(node);
    const int chain = on_path(operands[0]) ? 0 : 1;
    if (on_path(operands[1 - chain])) return refuse("the result is added to itself");
    *next = operands[chain];
    if (s_.shape(*next) != s_.shape(node)) return refuse("the addition broadcasts the result");
    return EpilogueStep{EpilogueKind::kAdd, node, operands[1 - chain], 1, {}};
  }

  const Subject& s_;
  std::vector<NodeId> path_;
  std::string_view activation_;
};

}  // namespace

Expected<std::vector<EpilogueStep>, Refusal> epilogue(const Subject& subject, NodeId core,
                                                      std::string_view activation_name) {
  const Walk walk(subject, core, activation_name);
  std::vector<EpilogueStep> steps;
  for (NodeId at = subject.match().root; at != core;) {
    NodeId next;
    TESSERA_TRY(EpilogueStep step, walk.step(at, &next));
    steps.push_back(std::move(step));
    TESSERA_CHECK(next < at, "an epilogue that does not lead to its core");
    at = next;
  }
  return steps;
}

}  // namespace tessera::backends::onednn
