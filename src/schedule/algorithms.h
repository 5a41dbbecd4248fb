// SPDX-License-Identifier: Apache-2.0
// Work that generated code can do by one of several algorithms. A rule chooses, or, where it was
// measured which one is fastest, the measurement: driver/native_algorithms.h keeps those.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::schedule {

// As the operator is defined.
inline constexpr std::string_view kDirect = "direct";

// Whose work may have several.
inline constexpr std::string_view kOperatorWithAlgorithms = "nn.conv2d";

struct AlgorithmChoice {
  std::string workload;                 // as records have it: equal text for equal work
  std::vector<std::string> algorithms;  // the rule's choice first; each is exact enough
};

// What was measured, and what schedules have asked for.
class MeasuredAlgorithms {
 public:
  // By workload.
  using Fastest = std::map<std::string, std::string, std::less<>>;
  explicit MeasuredAlgorithms(Fastest fastest = {}) : fastest_(std::move(fastest)) {}

  // One of the choice's algorithms. Where there are several, it is noted as asked for.
  std::string choose(const AlgorithmChoice& choice);
  // In the order in which they came first, each once.
  const std::vector<AlgorithmChoice>& asked() const { return asked_; }
  // How much was asked for that was not measured?
  std::size_t num_unknown() const;
  bool is_any_unknown() const { return num_unknown() > 0; }

 private:
  Fastest fastest_;
  std::vector<AlgorithmChoice> asked_;
};

}  // namespace tessera::schedule
