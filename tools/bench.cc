// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "driver/placement_table.h"
#include "driver/run_trace.h"
#include "support/json_text.h"
#include "support/peak_memory.h"
#include "tools/profile_table.h"
#include "tools/progress_bar.h"
#include "tools/session.h"

namespace tessera::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArgs {
  ModelOptionTexts model;
  std::string inputs, trace;
  double seconds = 3;
  int threads = 0;
  bool json = false, no_replay = false, profile = false;
};

double micros(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

// In microseconds, ascending.
struct RunTimes {
  std::vector<double> whole;
  std::vector<double> on_device;  // of its kernels alone; none on a cpu
};
double median(const std::vector<double>& times) { return times[times.size() / 2]; }
double percentile_95(const std::vector<double>& times) {
  return times[std::min(times.size() - 1, times.size() * 95 / 100)];
}

// Times of single runs after one run that is not counted; at least three. On a device a second run
// records what later ones replay.
Result<RunTimes> measure(exec::Session& session, double seconds) {
  TESSERA_TRY_VOID(session.run_bound());
  TESSERA_TRY(const std::uint64_t device_ns, session.device_ns());
  if (device_ns > 0) {
    TESSERA_TRY_VOID(session.run_bound());
  }
  RunTimes out;
  std::vector<double>& times = out.whole;
  ProgressBar bar("measuring");
  const auto start = Clock::now(), end = start + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(seconds));
  while (times.size() < 3 || Clock::now() < end) {
    bar.show((Clock::now() - start) / std::chrono::duration<double>(std::max(seconds, 1e-9)));
    const auto begin = Clock::now();
    TESSERA_TRY_VOID(session.run_bound());
    times.push_back(micros(Clock::now() - begin));
    if (device_ns == 0) continue;
    TESSERA_TRY(const std::uint64_t ns, session.device_ns());
    out.on_device.push_back(static_cast<double>(ns) / 1e3);
  }
  std::sort(times.begin(), times.end());
  std::sort(out.on_device.begin(), out.on_device.end());
  return out;
}

// What a call takes beside its kernels: checks, binding, the way through the library's interface.
// The median over runs with the clock on every kernel, which ends one where the next begins.
Result<double> measure_call_overhead(exec::Session& session) {
  constexpr int kRuns = 25;
  TESSERA_TRY_VOID(session.profile(true));
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = Clock::now();
    TESSERA_TRY_VOID(session.run_bound());
    const double whole = micros(Clock::now() - begin);
    double kernels = 0;
    for (const exec::KernelTime& k : session.kernel_times()) {
      kernels += static_cast<double>(k.last_ns) / 1e3;
    }
    times.push_back(whole - kernels);
  }
  TESSERA_TRY_VOID(session.profile(false));
  std::sort(times.begin(), times.end());
  return times[kRuns / 2];
}

void print_text(const exec::Session& session, const RunTimes& measured, double overhead,
                const std::optional<Profile>& profile) {
  const std::vector<double>& times = measured.whole;
  show(
      "median {:.1f} us, least {:.1f} us, 95 % below {:.1f} us; {} runs; {:.1f} us a call beside "
      "its kernels; load {} us\n",
      median(times), times.front(), percentile_95(times), times.size(), overhead,
      session.load_us());
  if (!measured.on_device.empty()) {
    show("on the device: median {:.1f} us, least {:.1f} us\n", median(measured.on_device),
         measured.on_device.front());
  }
  if (const auto memory = session.device_memory()) {
    show("its memory: weights {}, arena {}, other {}; pinned on the host {}\n",
         driver::size_text(memory->constants), driver::size_text(memory->pools),
         driver::size_text(memory->other), driver::size_text(memory->pinned));
  }
  if (profile) show("{}", profile_table(*profile));
}

void print_json(const exec::Session& session, const RunTimes& measured, double overhead,
                const std::optional<Profile>& profile) {
  nlohmann::ordered_json json = {{"median_us", median(measured.whole)},
                                 {"min_us", measured.whole.front()},
                                 {"p95_us", percentile_95(measured.whole)},
                                 {"runs", measured.whole.size()},
                                 {"threads", session.threads()},
                                 {"load_us", session.load_us()},
                                 {"call_overhead_us", overhead},
                                 {"peak_bytes", own_peak_bytes()}};
  if (!measured.on_device.empty()) {
    json["device_median_us"] = median(measured.on_device);
    json["device_min_us"] = measured.on_device.front();
  }
  if (const auto memory = session.device_memory()) {
    json["device_weight_bytes"] = memory->constants;
    json["device_arena_bytes"] = memory->pools;
    json["device_other_bytes"] = memory->other;
    json["pinned_bytes"] = memory->pinned;
  }
  if (profile) json["profile"] = profile_json(*profile);
  show("{}\n", json_text(json, 2));
}

Result<void> bench(const BenchArgs& args) {
  TESSERA_TRY(std::unique_ptr<exec::Session> session,
              open_session(args.model, {args.threads, false, !args.no_replay}));
  TESSERA_TRY(const std::vector<Tensor> inputs, read_inputs(*session, args.inputs));
  TESSERA_TRY_VOID(session->bind(inputs));
  TESSERA_TRY(const RunTimes measured, measure(*session, args.seconds));
  TESSERA_TRY(const double overhead, measure_call_overhead(*session));
  std::optional<Profile> profile;
  if (args.profile) {
    TESSERA_TRY(profile, measure_profile(*session, inputs));
  }
  (args.json ? print_json : print_text)(*session, measured, overhead, profile);
  if (!args.trace.empty()) {
    TESSERA_TRY(const nlohmann::ordered_json trace, driver::trace_of_runs(*session));
    TESSERA_TRY_VOID(write_output(args.trace, json_text(trace) + "\n"));
  }
  return {};
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<BenchArgs>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure a compiled library, or a model in this process");
  command->add_option("model", args->model.options.model, "Library (.so) or model")->required();
  command->add_option("--inputs", args->inputs,
                      "Folder of NAME.npy; inputs without a file are random");
  command->add_option("--seconds", args->seconds, "How long to measure")
      ->check(CLI::Range(0.0, 1e6))
      ->check([](const std::string& text) {  // which no range refuses
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is not a number" : "";
      })
      ->capture_default_str();
  command->add_option("--threads", args->threads, "Threads of the instance (0: one a CPU)");
  command->add_flag("--profile", args->profile,
                    "Print a table of the kernels: time, rates, and what part of the machine's "
                    "own, which is measured");
  command->add_option("--trace", args->trace,
                      "Write a trace of some runs: host, back ends and kernels, for "
                      "chrome://tracing and Perfetto");
  command->add_flag("--no-replay", args->no_replay,
                    "Launch each kernel anew in each run on a device, rather than replay the run "
                    "as a CUDA graph");
  command->add_flag("--json", args->json, "Print one JSON object");
  add_model_options(*command, args->model);
  command->callback([&chosen, args] {
    chosen = [args] {
      const Result<void> done = bench(*args);
      return done ? static_cast<int>(kDone) : report(done.error());
    };
  });
}

}  // namespace tessera::tools
