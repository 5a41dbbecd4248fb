// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/describe.h"

#include <algorithm>

#include <fmt/format.h>

#include "attention/around.h"
#include "attention/patterns.h"
#include "backends/cudnn/compiler/attention.h"
#include "backends/cudnn/compiler/convolution.h"
#include "backends/cudnn/compiler/library.h"
#include "backends/cudnn/compiler/norm.h"
#include "relay/operator.h"

namespace tessera::backends::cudnn {
namespace {

using relay::CompositePattern;
using relay::is_op;
using relay::Match;
using relay::Refusal;
using relay::wildcard;
using Why = std::optional<Refusal>;

// Where the table is used by its name, there is a target of another kind.
Target own_target(const Target& given) { return given.name() == "cudnn" ? given : Target("cudnn"); }

// What follows is computed elsewhere if the convolution by itself has a better engine.
Why check_fallback(Convolution convolution, const Target& target) {
  if (convolution.steps.empty()) return std::nullopt;
  convolution.steps.clear();
  convolution.operands.resize(2);
  const auto plan = plan_of(region_of(convolution), target);
  if (!plan || plan->is_fallback) return std::nullopt;
  return Refusal{"cuDNN has for all of it no engine but its slowest"};
}

Why check_convolution(const Match& match, const Target& given) {
  const Target target = own_target(given);
  const auto convolution = describe_convolution(match, target);
  if (!convolution) return convolution.error();
  const auto plan = plan_of(region_of(*convolution), target);
  if (!plan) return plan.error();
  return plan->is_fallback ? check_fallback(*convolution, target) : std::nullopt;
}

// Of attention and norms cuDNN has, so far, engines alone whose code it compiles.
Why check_other(const Expected<Region, Refusal>& region, const Target& target) {
  if (!region) return region.error();
  const auto plan = plan_of(*region, target);
  if (plan) return std::nullopt;
  const std::string why = fmt::format("{}: {}", plan.error().reason, region->sizes);
  if (region->runtime_engines) return Refusal{why};
  return Refusal{why + "; engines whose code it compiles are taken with `-runtime_engines`"};
}

Why check_attention(const Match& match, const Target& given) {
  const Target target = own_target(given);
  return check_other(describe_attention(match, target), target);
}

Why check_norm(const Match& match, const Target& given) {
  const Target target = own_target(given);
  return check_other(describe_norm(match, target), target);
}

// Where no pattern has taken it, the softmax tells why.
Why check_other_attention(const Match& match, const Target& target) {
  const auto attention = attention::around(match);
  if (!attention) return Refusal{};
  const auto why = check_attention(*attention, target);
  return why ? why : attention::why_unmatched(*attention);
}

bool has(const Match& match, std::string_view op) {
  const relay::Function& f = *match.function;
  return std::any_of(match.inside.begin(), match.inside.end(),
                     [&](relay::NodeId id) { return relay::is_call_of(f, id, op); });
}

}  // namespace

Expected<Region, Refusal> describe(const Match& match, const Target& target) {
  if (has(match, "nn.layer_norm") || has(match, "nn.rms_norm")) return describe_norm(match, target);
  if (has(match, "nn.softmax")) return describe_attention(match, target);
  TESSERA_TRY(const Convolution convolution, describe_convolution(match, target));
  return region_of(convolution);
}

std::vector<CompositePattern> composites() {
  const auto convolution = [](const char* op, const std::string& name) {
    return CompositePattern{"cudnn." + name, is_op(op, {wildcard(), wildcard()}), check_convolution,
                            "cudnn." + name + "_epilogue"};
  };
  std::vector<CompositePattern> table = attention::patterns("cudnn", check_attention);
  table.push_back({"cudnn.attention", is_op("nn.softmax", {wildcard()}), check_other_attention});
  table.push_back({"cudnn.layer_norm", is_op("nn.layer_norm", {wildcard(), wildcard(), wildcard()}),
                   check_norm});
  table.push_back({"cudnn.rms_norm", is_op("nn.rms_norm", {wildcard(), wildcard()}), check_norm});
  table.push_back(convolution("nn.conv2d", "conv2d"));
  table.push_back(convolution("nn.conv1d", "conv1d"));
  return table;
}

}  // namespace tessera::backends::cudnn
