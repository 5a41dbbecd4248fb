// SPDX-License-Identifier: Apache-2.0
#include "collage/cost.h"

#include <fmt/format.h>

namespace tessera::collage {

Result<std::vector<Cost>> CostEstimator::estimate_all(std::span<const CandidateProgram> programs) {
  std::vector<Cost> costs;
  for (const CandidateProgram& program : programs) {
    TESSERA_TRY(costs.emplace_back(), estimate(program));
  }
  return costs;
}

std::string to_string(const Cost& cost) {
  if (!cost.is_known()) return "unknown";
  if (cost.is_invalid()) return "invalid";
  if (cost.seconds() == 0) return "0";
  return fmt::format("{:.6f}us", cost.seconds() * 1e6);
}

}  // namespace tessera::collage
