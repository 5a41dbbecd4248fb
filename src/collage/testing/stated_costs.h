// SPDX-License-Identifier: Apache-2.0
// For tests of plans: back ends that have patterns alone, and costs that a test states.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "byoc/backend.h"
#include "collage/cost.h"

namespace tessera::collage::testing {

// Takes single operators, or products with what follows them.
class PatternsOnly : public byoc::Backend {
 public:
  PatternsOnly(std::string name, std::vector<relay::CompositePattern> patterns,
               byoc::FusionStyle style = byoc::FusionStyle::kAnyConvex)
      : name_(std::move(name)), patterns_(std::move(patterns)), style_(style) {}
  std::string_view name() const override { return name_; }
  std::vector<byoc::CompositePattern> patterns(const Target&) const override { return patterns_; }
  byoc::FusionStyle fusion_style() const override { return style_; }
  Result<byoc::CompileOutcome> compile(Module, const Target&,
                                       byoc::CompileContext&) const override {
    return fail(error(Code::kBackendFailed, {}, "it has patterns alone"));
  }

 private:
  std::string name_;
  std::vector<relay::CompositePattern> patterns_;
  byoc::FusionStyle style_;
};

// Operators of a program in their order: "nn.dense, nn.relu".
inline std::string operators_of(const relay::Function& f) {
  std::string text;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (const relay::Operator* op = f.op(relay::NodeId(i))) {
      text += (text.empty() ? "" : ", ") + std::string(op->name);
    }
  }
  return text;
}

class StatedCosts final : public CostEstimator {
 public:
  using Says = std::function<Cost(const std::string& who, const std::string& operators)>;
  explicit StatedCosts(Says says) : says_(std::move(says)) {}
  Result<Cost> estimate(const CandidateProgram& program) override {
    const std::string who(program.target.name());
    const std::string operators = operators_of(program.module.functions.at("main"));
    asked.push_back(who + ": " + operators);
    return says_(who, operators);
  }
  std::vector<std::string> asked;

 private:
  Says says_;
};

}  // namespace tessera::collage::testing
