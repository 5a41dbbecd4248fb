// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/compilation_timing.h"
#include "types/likely_size.h"

namespace tessera::driver {
namespace {

constexpr RunLimits kOfTurn = {1, 1000, 0.1};

}  // namespace

std::vector<tune::Measured> time_whole_plans(std::span<const LibraryProgram> plans,
                                             double tolerance, const CompileOptions& options,
                                             const std::string& command) {
  constexpr int kTurns = 10, kTurnsOfLook = 4, kLooks = 3;
  const ProgramTiming how = timing_of_models(options);
  if (how.on_gpu) return time_in_turns(plans, {kTurns, kOfTurn, tolerance}, how, command);
  std::vector<tune::Measured> times =
      time_in_turns(plans, {kTurnsOfLook, kOfTurn, tolerance}, how, command);
  std::vector<std::size_t> left;
  std::vector<LibraryProgram> programs;
  std::vector<std::vector<tune::Measured>> looks;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!times[i].failure.empty()) continue;
    left.push_back(i);
    programs.push_back(plans[i]);
    looks.push_back({times[i]});
  }
  for (int look = 1; look < kLooks && !left.empty(); ++look) {
    const std::vector<tune::Measured> again =
        time_in_turns(programs, {kTurnsOfLook, kOfTurn}, how, command);
    for (std::size_t k = 0; k < left.size(); ++k) looks[k].push_back(again[k]);
  }
  for (std::size_t k = 0; k < left.size(); ++k) times[left[k]] = middle_look(std::move(looks[k]));
  return times;
}

Diagnostic no_plan_timed(const SymbolTable& symbols, const std::string& why) {
  if (symbols.empty()) {
    return error(Code::kToolFailed, {}, "no plan of the model could be timed: {}", why)
        .with_remedy("compile with --partition greedy");
  }
  std::vector<std::string> sizes;
  for (const auto& [name, size] : likely_sizes(symbols)) {
    sizes.push_back(fmt::format("{} = {}", name, likely_value(size, {})));
  }
  return error(Code::kBadOption, {}, "no plan of the model could be timed with {}: {}",
               fmt::join(sizes, ", "), why)
      .with_remedy("say what sizes it takes, and will likely have: --dim NAME=LEAST..MOST:LIKELY");
}

}  // namespace tessera::driver
