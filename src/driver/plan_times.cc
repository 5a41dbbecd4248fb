// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_times.h"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/compilation_timing.h"
#include "types/likely_size.h"

namespace tessera::driver {
namespace {

constexpr RunLimits kOfTurn = {1, 1000, 0.1};
constexpr double kNotCompared = -1;  // the numbers: once is enough

}  // namespace

std::vector<tune::Measured> time_whole_plans(std::span<const LibraryProgram> plans,
                                             double tolerance, const CompileOptions& options,
                                             const std::string& command) {
  const ProgramTiming how = timing_of_models(options);
  const int num_looks = how.on_gpu ? 1 : 3, turns = how.on_gpu ? 10 : 4;
  std::vector<std::vector<tune::Measured>> looks(plans.size());
  std::vector<std::size_t> left(plans.size());
  std::iota(left.begin(), left.end(), 0);
  for (int look = 0; look < num_looks && !left.empty(); ++look) {
    std::vector<LibraryProgram> programs;
    for (const std::size_t i : left) programs.push_back(plans[i]);
    const Turns in_turns{turns, kOfTurn, look == 0 ? tolerance : kNotCompared};
    const auto times = time_in_turns(programs, in_turns, how, command);
    for (std::size_t k = 0; k < left.size(); ++k) looks[left[k]].push_back(times[k]);
    std::erase_if(left, [&](std::size_t i) { return !looks[i].back().failure.empty(); });
  }
  std::vector<tune::Measured> out;
  for (auto& of_plan : looks) out.push_back(middle_look(std::move(of_plan)));
  return out;
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
