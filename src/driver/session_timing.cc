// SPDX-License-Identifier: Apache-2.0
#include "driver/session_timing.h"

#include <algorithm>
#include <chrono>

#include "support/check.h"

namespace tessera::driver {
namespace {

using Clock = std::chrono::steady_clock;

// Of small work a run is nearly all that was measured: then little is certain of the rest.
constexpr double kLeastShare = 0.05;
// A computation of less leaves most of a device idle, or waits for memory: neither takes the power
// that slows it.
constexpr double kFillsDevice = 20e-6;

// A device that does nothing for a while slows down; one that computes for long comes to its power
// limit, which is kept on average over some 100 ms.
Result<void> warm_up(const TimedSession& timed, const TimingLimits& limits) {
  const Clock::time_point start = Clock::now();
  const auto run_until = [&](double seconds) -> Result<void> {
    do {
      TESSERA_TRY_VOID(timed.session->run_bound());
    } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
    return {};
  };
  TESSERA_TRY_VOID(run_until(limits.warm_up));
  if (limits.settle <= limits.warm_up) return {};
  TESSERA_TRY(const std::uint64_t device_ns, timed.session->device_ns());
  const bool fills = static_cast<double>(device_ns) * 1e-9 >= kFillsDevice * timed.repeats;
  return fills ? run_until(limits.settle) : Result<void>();
}

}  // namespace

Result<std::vector<double>> time_runs(const TimedSession& timed, const TimingLimits& limits) {
  exec::Session& session = *timed.session;
  TESSERA_TRY_VOID(warm_up(timed, limits));
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
    seconds.push_back(std::max(taken - limits.run, kLeastShare * taken) / timed.repeats);
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
  TimingLimits limits = of_turn;
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (sessions[i].session == nullptr) continue;
      print(tune::begin_line(i));
      const Result<std::vector<double>> some = time_runs(sessions[i], limits);
      if (!some) {
        print(tune::line_of(i, failure(some.error())));
        return;
      }
      seconds[i].insert(seconds[i].end(), some->begin(), some->end());
    }
    limits.settle = 0;  // the device is at work from now on
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
