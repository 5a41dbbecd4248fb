// SPDX-License-Identifier: Apache-2.0
#include "driver/timing_worker.h"

#include <algorithm>

#include "driver/run_inputs.h"
#include "driver/session_timing.h"
#include "emit/host.h"
#include "tune/gpu.h"

namespace tessera::driver {
namespace {

using tune::Measured;

Result<std::unique_ptr<exec::Session>> open(const LibraryProgram& program,
                                            const exec::SessionOptions& options) {
  const std::string create =
      program.entry.empty() ? "tessera_model_create" : emit::create_function(program.entry);
  return exec::Session::open_library(program.library, options, create);
}

exec::SessionOptions options_of(const LibraryProgram& program, const ProgramTiming& how) {
  exec::SessionOptions options = {
      .threads = how.threads, .repeats = how.repeats, .stay_on_device = how.on_gpu};
  if (!how.on_gpu || !how.weights_of_memory) return options;
  const Result<std::uint64_t> cache_bytes = tune::gpu_cache_bytes();
  if (!cache_bytes) return options;
  options.weight_copies = copies_beyond(*cache_bytes, weight_bytes(program));
  options.repeats = runs_over_all(options.weight_copies, options.repeats);
  return options;
}

TimingLimits limits_of(const RunLimits& runs, const ProgramTiming& how) {
  return {runs, how.warm_up, how.settle, how.run};
}

// A session with inputs of these sizes, ready to be timed.
struct Ready {
  std::unique_ptr<exec::Session> session;
  RunInputs ran;
  TimedSession timed;
};
Result<Ready> prepare(const LibraryProgram& program, const Shapes& shapes,
                      const ProgramTiming& how) {
  Ready ready;
  const exec::SessionOptions options = options_of(program, how);
  TESSERA_TRY(ready.session, open(program, options));
  TESSERA_TRY(ready.ran, run_with_random_inputs(*ready.session, shapes));
  TESSERA_TRY_VOID(ready.session->bind(ready.ran.inputs));
  ready.timed = {ready.session.get(), options.repeats};
  if (!how.on_gpu && how.weights_of_memory) ready.timed.weights = ColdWeights::of(program);
  return ready;
}

Result<Measured> measure_at(const TimedProgram& timed, const Shapes& shapes,
                            const ProgramTiming& how) {
  TESSERA_TRY(const Ready ready, prepare(timed.program, shapes, how));
  if (timed.reference) {
    TESSERA_TRY(const auto other, open(timed.reference, {.threads = how.threads}));
    TESSERA_TRY(const std::vector<Tensor> wanted, other->run(ready.ran.inputs));
    std::string wrong =
        wrong_numbers(ready.ran.outputs, wanted, timed.tolerance, "generated code's");
    if (!wrong.empty()) return Measured{0, 0, std::move(wrong)};
  }
  TESSERA_TRY(std::vector<double> seconds, time_runs(ready.timed, limits_of(how.runs, how)));
  const Quartiles q = quartiles(std::move(seconds));
  return Measured{q.median * 1e6, q.spread * 1e6, ""};
}

// At both ends of what counts: a program must be able to run at each.
Result<Measured> measure(const TimedProgram& timed, const ProgramTiming& how) {
  const auto& [library, create, likely, largest] = timed.program;
  TESSERA_TRY(Measured measured, measure_at(timed, likely, how));
  const double share = how.largest_share;
  if (share <= 0 || largest == likely || !measured.failure.empty()) return measured;
  TESSERA_TRY(const Measured most, measure_at(timed, largest, how));
  if (!most.failure.empty()) return most;
  return Measured{(1 - share) * measured.time_us + share * most.time_us,
                  (1 - share) * measured.spread_us + share * most.spread_us, ""};
}

// All sessions at once: every one computes what the last of them does, then all take turns.
class TurnTaking {
 public:
  TurnTaking(const TimingRequest& request, const Print& print)
      : request_(request), turns_(*request.turns), print_(print) {}

  void run() {
    ready_.resize(request_.programs.size());
    for (std::size_t i = request_.left.size(); i-- > 0;) {
      const Result<void> opened = open(request_.left[i]);
      if (!opened) return tell(request_.left[i], failure(opened.error()));
    }
    std::vector<TimedSession> sessions;
    for (const Ready& ready : ready_) sessions.push_back(ready.timed);
    time_in_turns(sessions, turns_.turns, limits_of(turns_.of_turn, request_.how), print_);
  }

 private:
  void tell(std::size_t i, const Measured& measured) { print_(tune::line_of(i, measured)); }

  Result<void> open(std::size_t i) {
    print_(tune::begin_line(i));
    const LibraryProgram& program = request_.programs[i].program;
    TESSERA_TRY(ready_[i], prepare(program, program.likely, request_.how));
    if (turns_.tolerance < 0) return {};
    std::vector<Tensor>& found = ready_[i].ran.outputs;
    if (wanted_.empty()) {
      wanted_ = std::move(found);
      return {};
    }
    const std::string wrong = wrong_numbers(found, wanted_, turns_.tolerance, "another's");
    if (wrong.empty()) return {};
    tell(i, {0, 0, wrong});
    ready_[i] = {};
    return {};
  }

  const TimingRequest& request_;
  const Turns& turns_;
  const Print& print_;
  std::vector<Ready> ready_;
  std::vector<Tensor> wanted_;
};

}  // namespace

void measure_programs(const TimingRequest& request, const Print& print) {
  if (request.turns) return TurnTaking(request, print).run();
  for (const std::size_t i : request.left) {
    print(tune::begin_line(i));
    const Result<Measured> measured = measure(request.programs[i], request.how);
    print(tune::line_of(i, measured ? *measured : failure(measured.error())));
  }
}

}  // namespace tessera::driver
