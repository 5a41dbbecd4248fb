// SPDX-License-Identifier: Apache-2.0
// How long runs of a session take, as one that follows other work does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/cold_weights.h"
#include "exec/session.h"
#include "support/child.h"
#include "tune/worker_report.h"

namespace tessera::driver {

// What is timed: inputs are bound to it.
struct TimedSession {
  exec::Session* session = nullptr;
  int repeats = 1;  // as it was opened with
  ColdWeights weights = {};
};

struct TimingLimits {
  RunLimits runs = {};
  // As in ProgramTiming.
  double warm_up = 0, settle = 0;
  double run = 0;
};

// Seconds of each computation of a session whose inputs are bound: on a device its own time, else
// the caller's. One run before them, and the warm-up, are not counted. Of a run that is little more
// than any takes, a twentieth counts.
Result<std::vector<double>> time_runs(const TimedSession& timed, const TimingLimits& limits);

// Sessions whose inputs are bound, in turns; null ones are passed over. Prints, as a measuring
// program does (tune/worker_report.h), which one it is at, and in the end the time of each; or the
// first failure, which is the end.
void time_in_turns(std::span<const TimedSession> sessions, int turns, const TimingLimits& of_turn,
                   const Print& print);
tune::Measured failure(const Diagnostics& problems);

struct Quartiles {
  double median = 0, spread = 0;  // between the first and the third
};
Quartiles quartiles(std::vector<double> seconds);

}  // namespace tessera::driver
