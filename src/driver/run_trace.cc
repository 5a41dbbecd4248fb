// SPDX-License-Identifier: Apache-2.0
#include "driver/run_trace.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

namespace tessera::driver {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kTracedRuns = 5;
enum class Track { kHost = 1, kStream = 2 };

struct Span {
  std::uint64_t begin_ns = 0, end_ns = 0;
};

std::uint64_t nanoseconds(Clock::duration d) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(d).count());
}

// Microseconds with three digits, as both readers count.
double micros(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

class Trace {
 public:
  explicit Trace(bool is_on_device) : track_(is_on_device ? Track::kStream : Track::kHost) {
    name("process_name", Track::kHost, "tessera");
    name("thread_name", Track::kHost, "host");
    if (is_on_device) name("thread_name", Track::kStream, "GPU stream");
  }

  // Starts of kernels count from somewhere in the run, and are moved so that the last one ends with
  // it. What is left in front are the checks and the binding of tensors.
  void add_run(int number, const TracedRun& run) {
    std::vector<exec::KernelTime> times = run.kernels;
    std::erase_if(times, [](const exec::KernelTime& t) { return t.calls == 0; });
    std::ranges::stable_sort(times, {}, &exec::KernelTime::last_start_ns);
    std::uint64_t end_ns = 0;
    for (const auto& t : times) end_ns = std::max(end_ns, t.last_start_ns + t.last_ns);
    // The device's clock may go a little faster.
    const std::uint64_t begin_ns = std::max(run.end_ns, run.begin_ns + end_ns) - end_ns;
    add("run " + std::to_string(number), "run", Track::kHost, {run.begin_ns, run.end_ns});
    if (track_ == Track::kHost && !times.empty()) {
      add("call", "host", Track::kHost, {run.begin_ns, begin_ns + times.front().last_start_ns});
    }
    for (auto first = times.begin(); first != times.end();) {
      const auto last = std::find_if(first, times.end(), [&](const exec::KernelTime& t) {
        return t.backend != first->backend;
      });
      add_region(begin_ns, {first, last});
      first = last;
    }
  }

  Json json() && { return {{"traceEvents", std::move(events_)}, {"displayTimeUnit", "ns"}}; }

 private:
  // Kernels of one back end, one after the other.
  void add_region(std::uint64_t run_ns, std::span<const exec::KernelTime> times) {
    const std::string& backend = times.front().backend;
    const auto span_of = [&](const exec::KernelTime& t) {
      return Span{run_ns + t.last_start_ns, run_ns + t.last_start_ns + t.last_ns};
    };
    add(backend, "back end", track_,
        {span_of(times.front()).begin_ns, span_of(times.back()).end_ns});
    for (const exec::KernelTime& t : times) {
      Json& event = add(t.kernel, backend, track_, span_of(t));
      // Of a step in a loop, what is drawn is the last call.
      event["args"] = {{"calls", t.calls}, {"total_us", micros(t.total_ns)}};
      if (!t.note.empty()) event["args"]["note"] = t.note;
    }
  }

  Json& add(std::string name, std::string category, Track track, Span span) {
    return events_.emplace_back(Json{{"name", std::move(name)},
                                     {"cat", std::move(category)},
                                     {"ph", "X"},
                                     {"pid", 1},
                                     {"tid", static_cast<int>(track)},
                                     {"ts", micros(span.begin_ns)},
                                     {"dur", micros(span.end_ns - span.begin_ns)}});
  }

  void name(const char* what, Track track, const char* text) {
    events_.push_back({{"name", what},
                       {"ph", "M"},
                       {"pid", 1},
                       {"tid", static_cast<int>(track)},
                       {"args", {{"name", text}}}});
  }

  Track track_;
  Json events_ = Json::array();
};

}  // namespace

Json trace_json(const std::vector<TracedRun>& runs, bool is_on_device) {
  Trace trace(is_on_device);
  for (std::size_t i = 0; i < runs.size(); ++i) trace.add_run(static_cast<int>(i) + 1, runs[i]);
  return std::move(trace).json();
}

Result<Json> trace_of_runs(exec::Session& session) {
  TESSERA_TRY_VOID(session.run_bound());
  TESSERA_TRY(const std::uint64_t device_ns, session.device_ns());
  std::vector<TracedRun> runs;
  const auto start = Clock::now();
  for (int i = 0; i < kTracedRuns; ++i) {
    TESSERA_TRY_VOID(session.profile(true));  // from zero
    const auto begin = Clock::now();
    TESSERA_TRY_VOID(session.run_bound());
    const auto end = Clock::now();
    runs.push_back({nanoseconds(begin - start), nanoseconds(end - start), session.kernel_times()});
  }
  TESSERA_TRY_VOID(session.profile(false));
  return trace_json(runs, device_ns > 0);
}

}  // namespace tessera::driver
