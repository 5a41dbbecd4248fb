// SPDX-License-Identifier: Apache-2.0
#include "driver/program_timing.h"

#include <algorithm>

#include "driver/timing_request.h"
#include "support/child.h"
#include "support/files.h"
#include "tune/turn_to_measure.h"

namespace tessera::driver {
namespace {

using tune::Measured;

// Turns of whole models take longer than parts of them.
constexpr double kTimesOfTurns = 2;

ChildResult run_measuring_process(const TimingRequest& request, const std::string& command) {
  const auto folder = TempDir::make("tessera-time-");
  if (!folder) return {"", folder.error().text()};
  const std::string file = folder->file("request");
  if (const auto written = write_atomically(file, to_text(request)); !written) {
    return {"", written.error().text()};
  }
  const tune::TurnToMeasure turn(request.how.on_gpu ? tune::gpu_turns() : tune::kCpuTurns);
  const double silence_s = request.how.silence_s * (request.turns ? kTimesOfTurns : 1);
  return run_program({command, "measure", file}, silence_s);
}

// Processes until all programs have a result: one that ends early costs the program that it was at.
std::vector<Measured> run(TimingRequest request, const std::string& command) {
  std::vector<Measured> out(request.programs.size());
  for (std::size_t i = 0; i < out.size(); ++i) request.left.push_back(i);
  while (!request.left.empty()) {
    const ChildResult child = run_measuring_process(request, command);
    tune::WorkerReport report = tune::parse_worker_report(child.output);
    if (!child.problem.empty()) {
      const std::size_t at = report.begun.value_or(request.left.front());
      report.measured.try_emplace(at, Measured{0, 0, child.problem});
    }
    if (report.measured.empty()) report.measured[request.left.front()] = {0, 0, "it was not timed"};
    for (auto& [i, measured] : report.measured) {
      if (std::erase(request.left, i) > 0) out[i] = std::move(measured);
    }
  }
  return out;
}

}  // namespace

std::vector<Measured> time_each(std::span<const TimedProgram> programs, const ProgramTiming& how,
                                const std::string& command) {
  return run({{programs.begin(), programs.end()}, {}, how, std::nullopt}, command);
}

std::vector<Measured> time_in_turns(std::span<const LibraryProgram> programs, const Turns& turns,
                                    const ProgramTiming& how, const std::string& command) {
  TimingRequest request{{}, {}, how, turns};
  for (const LibraryProgram& program : programs) request.programs.push_back({program, {}});
  return run(std::move(request), command);
}

Measured middle_look(std::vector<Measured> looks) {
  const auto failed = std::ranges::find_if(looks, [](const auto& m) { return !m.failure.empty(); });
  if (failed != looks.end()) return std::move(*failed);
  const auto middle = looks.begin() + static_cast<std::ptrdiff_t>(looks.size() / 2);
  std::ranges::nth_element(looks, middle, {}, &Measured::time_us);
  return std::move(*middle);
}

}  // namespace tessera::driver
