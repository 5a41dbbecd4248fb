// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms.h"

#include <algorithm>

#include "support/check.h"

namespace tessera::schedule {

std::string MeasuredAlgorithms::choose(const AlgorithmChoice& choice) {
  TESSERA_CHECK(!choice.algorithms.empty(), "`{}` has no algorithm", choice.workload);
  const bool is_new =
      std::ranges::find(asked_, choice.workload, &AlgorithmChoice::workload) == asked_.end();
  if (is_new && choice.algorithms.size() > 1) asked_.push_back(choice);
  const auto measured = fastest_.find(choice.workload);
  const bool can_be_taken =
      measured != fastest_.end() &&
      std::ranges::find(choice.algorithms, measured->second) != choice.algorithms.end();
  return can_be_taken ? measured->second : choice.algorithms.front();
}

std::size_t MeasuredAlgorithms::num_unknown() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      asked_, [&](const AlgorithmChoice& choice) { return !fastest_.contains(choice.workload); }));
}

}  // namespace tessera::schedule
