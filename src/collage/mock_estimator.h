// SPDX-License-Identifier: Apache-2.0
// Costs that users state, in place of measuring: of one operator for each kind of target; each
// further operator of a function costs 0.9 of the one before it (relay-spec 9.8).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "collage/cost.h"

namespace tessera::collage {

class MockEstimator final : public CostEstimator {
 public:
  // `KIND:COST` each; every one of the targets needs one. 0 estimates are no limit.
  static Result<MockEstimator> make(std::span<const std::string> costs,
                                    std::span<const Target> targets, std::int64_t max_estimates);

  Result<Cost> estimate(const CandidateProgram& program) override;
  std::int64_t num_estimates() const { return num_estimates_; }

 private:
  MockEstimator() = default;
  std::map<std::string, double> costs_;  // by kind of target
  std::int64_t max_estimates_ = 0, num_estimates_ = 0;
};

}  // namespace tessera::collage
