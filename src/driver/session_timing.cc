// SPDX-License-Identifier: Apache-2.0
#include "driver/session_timing.h"

#include <algorithm>
#include <chrono>

#include "support/check.h"

namespace tessera::driver {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<std::vector<double>> time_runs(const TimedSession& timed, const TimingLimits& limits) {
  exec::Session& session = *timed.session;
  const Clock::time_point start = Clock::now();
  do {
    TESSERA_TRY_VOID(session.run_bound());
  } while (std::chrono::duration<double>(Clock::now() - start).count() < limits.warm_up);
  std::vector<double> seconds;
  double sum = 0;
  while (static_cast<int>(seconds.size()) < limits.runs.most &&
         (static_cast<int>(seconds.size()) < limits.runs.fewest || sum < limits.runs.seconds)) {
    timed.weights.evict();
    const Clock::time_point begin = Clock::now();
    TESSERA_TRY_VOID(session.run_bound());
    double taken = std::chrono::duration<double>(Clock::now() - begin).count();
    TESSERA_TRY(const std::uint64_t device_ns, session.device_ns());
    if (device_ns > 0) taken = static_cast<double>(device_ns) * 1e-9;
    seconds.push_back(taken / limits.repeats);
    sum += taken;
  }
  return seconds;
}

tune::Measured failure(const Diagnostics& problems) {
  return {0, 0, problems.list.front().message};
}

void time_in_turns(std::span<const TimedSession> sessions, int turns, const TimingLimits& of_turn,
                   const Print& print) {
  std::vector<std::vector<double>> seconds(sessions.size());
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (sessions[i].session == nullptr) continue;
      print(tune::begin_line(i));
      const Result<std::vector<double>> some = time_runs(sessions[i], of_turn);
      if (!some) {
        print(tune::line_of(i, failure(some.error())));
        return;
      }
      seconds[i].insert(seconds[i].end(), some->begin(), some->end());
    }
  }
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (sessions[i].session == nullptr) continue;
    const Quartiles q = quartiles(std::move(seconds[i]));
    print(tune::line_of(i, {q.median * 1e6, q.spread * 1e6, ""}));
  }
}

Quartiles quartiles(std::vector<double> seconds) {
  TESSERA_CHECK(!seconds.empty(), "no run was timed");
  std::sort(seconds.begin(), seconds.end());
  const std::size_t n = seconds.size();
  return {seconds[n / 2], seconds[(3 * n) / 4] - seconds[n / 4]};
}

}  // namespace tessera::driver
